/// Writes raw profiles for tests of the reader. Offsets are literals on purpose: they are the format, and a field that moved
/// in runtime/abi/raw_layout.h must fail here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimizer/profile/hash.h"

namespace adprof::profile {

inline void put(std::string &bytes, size_t offset, std::uint64_t value, int width) {
  if (bytes.size() < offset + static_cast<size_t>(width))
    bytes.resize(offset + static_cast<size_t>(width));
  for (int i = 0; i < width; ++i)
    bytes[offset + static_cast<size_t>(i)] = static_cast<char>(value >> (8 * i));
}
inline void put32(std::string &bytes, size_t offset, std::uint32_t value) { put(bytes, offset, value, 4); }
inline void put64(std::string &bytes, size_t offset, std::uint64_t value) { put(bytes, offset, value, 8); }
inline void add64(std::string &bytes, std::uint64_t value) { put64(bytes, bytes.size(), value); }

inline std::uint64_t site_key(const std::string &caller, const std::string &callee, int ordinal) {
  return fnv1a(caller + '\0' + callee + '\0' + std::to_string(ordinal));
}

struct RawEntry {
  std::uint64_t own_after = 0;
  std::uint32_t child = 0, site = 0;
  std::uint64_t snapshot = 0; ///< or iterations
  std::uint64_t kept = 0;
  std::uint16_t flags = 0;

  void append_to(std::string &bytes) const {
    add64(bytes, own_after);
    add64(bytes, child | static_cast<std::uint64_t>(site) << 32);
    add64(bytes, snapshot);
    add64(bytes, kept | static_cast<std::uint64_t>(flags) << 48);
  }
};
inline constexpr std::uint32_t kRawLoop = 0xffffffffu, kRawBlock = 0xfffffffeu, kRawNoSite = 0xfffffffdu;

struct RawFrame {
  std::uint32_t procedure = 0, site = 0, context = 0, first_entry = 0;
  std::uint64_t base = 0, start_of_last_child = 0;
};

class RawBuilder {
public:
  RawBuilder() : bytes_(4096, '\0') {
    bytes_.replace(0, 8, "ADPROFRW");
    put32(bytes_, 8, 1);           // version
    put32(bytes_, 12, 1);          // oldest reader
    put32(bytes_, 16, 0x01020304); // endian mark
    put32(bytes_, 32, 1);          // finished
    put64(bytes_, 48, 1000000000); // tick_hz: a tick is a nanosecond
    put64(bytes_, 120, UINT64_MAX);
    put64(bytes_, 128, UINT64_MAX);
  }

  RawBuilder &header64(size_t offset, std::uint64_t value) { return put64(bytes_, offset, value), *this; }
  RawBuilder &header32(size_t offset, std::uint32_t value) { return put32(bytes_, offset, value), *this; }

  RawBuilder &segment(std::uint32_t type, std::uint32_t thread, const std::string &data) {
    size_t at = bytes_.size(), size = (32 + data.size() + 4095) / 4096 * 4096;
    bytes_.resize(at + size, '\0');
    put32(bytes_, at, type);
    put32(bytes_, at + 4, thread);
    put64(bytes_, at + 8, size);
    put64(bytes_, at + 16, data.size());
    bytes_.replace(at + 32, data.size(), data);
    return *this;
  }
  RawBuilder &text(const std::string &lines) { return segment(1, 0, lines); }
  RawBuilder &module(const std::string &lines) { return segment(2, 0, lines); }
  RawBuilder &keys(std::uint32_t type, const std::vector<std::uint64_t> &values) {
    std::string data;
    for (std::uint64_t value : values)
      add64(data, value);
    return segment(type, 0, data);
  }
  RawBuilder &sites(const std::vector<std::uint64_t> &values) { return keys(3, values); }
  RawBuilder &procedures(const std::vector<std::string> &names) {
    std::vector<std::uint64_t> hashes;
    for (const std::string &name : names)
      hashes.push_back(fnv1a(name));
    return keys(4, hashes);
  }

  static std::string node(std::uint32_t procedure, std::uint64_t own_first, const std::vector<RawEntry> &entries, std::uint64_t flags = 0) {
    std::string data;
    add64(data, entries.size() | static_cast<std::uint64_t>(procedure) << 32);
    add64(data, own_first);
    add64(data, flags);
    for (const RawEntry &entry : entries)
      entry.append_to(data);
    return data;
  }
  RawBuilder &nodes(std::uint32_t thread, const std::string &records) { return segment(5, thread, records); }

  /// 256 bytes with the given 64-bit fields by offset.
  static std::string context(std::uint32_t parent, std::uint32_t site, std::uint64_t procedure,
                             const std::vector<std::pair<size_t, std::uint64_t>> &fields) {
    std::string data(256, '\0');
    put32(data, 0, parent);
    put32(data, 4, site);
    put64(data, 64, UINT64_MAX); // least values start at all ones
    put64(data, 88, UINT64_MAX);
    put64(data, 200, procedure);
    for (auto [offset, value] : fields)
      put64(data, offset, value);
    return data;
  }
  RawBuilder &contexts(std::uint32_t thread, const std::string &records) { return segment(6, thread, records); }

  /// frames[0], the ordinary code, is always there.
  RawBuilder &thread(std::uint32_t index, std::uint64_t height, std::uint64_t peak, std::uint64_t traffic,
                     const std::vector<RawEntry> &entries, const std::vector<RawFrame> &open = {}) {
    std::string data(655488, '\0');
    put64(data, 8, height);
    put64(data, 16, peak);
    put64(data, 24, traffic);
    put64(data, 32, open.size() + 1);
    put64(data, 40, entries.size());
    put64(data, 48, UINT64_MAX);
    std::vector<RawFrame> frames{{0xfffffffdu, kRawNoSite, 0xffffffffu, 0, 0, 0}};
    frames.insert(frames.end(), open.begin(), open.end());
    for (size_t f = 0; f < frames.size(); ++f) {
      size_t at = 128 + f * 32;
      put32(data, at, frames[f].procedure);
      put32(data, at + 4, frames[f].site);
      put32(data, at + 8, frames[f].context);
      put32(data, at + 12, frames[f].first_entry);
      put64(data, at + 16, frames[f].base);
      put64(data, at + 24, frames[f].start_of_last_child);
    }
    std::string list;
    for (const RawEntry &entry : entries)
      entry.append_to(list);
    data.replace(131200, list.size(), list);
    return segment(7, index, data);
  }

  std::string bytes() const {
    std::string done = bytes_;
    put64(done, 24, done.size());
    return done;
  }

private:
  std::string bytes_;
};

/// main calls model (root); model calls step ten times in a loop, on; step calls flux (off), then solve (opaque).
/// Forward sweep of step: 8 bits, flux (100 bits), 64 bits, solve (snapshot 32, kept 8), 16 bits. Snapshot of step 640, kept 64.
inline RawBuilder sample_raw() {
  auto hex = [](std::uint64_t key) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
    return std::string(text);
  };
  std::uint64_t model = site_key("main", "model", 0), step = site_key("model", "step", 0), flux = site_key("step", "flux", 0),
                solve = site_key("step", "solve", 0);
  RawBuilder raw;
  raw.header64(80, 2000000000).header64(88, 1900000000); // wall, cpu
  raw.header64(96, 1 << 20).header64(112, 1 << 19);      // resident peak, other
  raw.header64(120, 1004).header64(128, 2500);           // the AD stack's own peak and traffic
  raw.header64(136, 1);                                  // threads
  raw.header64(144, 30).header64(152, 28).header64(160, 1).header64(168, 1);
  raw.header64(216, 50000).header64(224, 100); // 50 ticks a hook, 100 hooks
  raw.header64(232, 1).header64(240, 1500000000);
  raw.header64(248, 8032).header64(256, 20000);
  raw.text("runtime_version=0.1.0\ncommand=./model --steps 10\nexecutable=/home/user/model\nbuild_id=00ff\nhost=here\nrank=3\ncwd=/tmp\n");
  raw.module("adprof\t1\tmodel_b.c\tclang\n"
             "dialect\ttapenade\n"
             "proc\t0\tmodel\tjoint\tmodel_b\tmodel_b.c\t5\n"
             "call\t0\t" + hex(model) + "\tadjoint\tmain\tmodel\t0\t4\tmain.c\t12\tmodel_b\tmain\tptr,ptr\n"
             "call\t1\t" + hex(step) + "\tprimal\tmodel\tstep\t0\t0\tmodel_b.c\t21\tstep\tmodel_b\tptr,i32\n"
             "call\t2\t" + hex(step) + "\tadjoint\tmodel\tstep\t0\t0\tmodel_b.c\t41\tstep_b\tmodel_b\tptr,ptr,i32\n"
             "call\t3\t" + hex(flux) + "\tforward\tstep\tflux\t0\t0\tstep_b.c\t31\tflux_fwd\tstep_b\tptr\n"
             "call\t4\t" + hex(flux) + "\tbackward\tstep\tflux\t0\t0\tstep_b.c\t52\tflux_bwd\tstep_b\tptr,ptr\n"
             "call\t5\t" + hex(solve) + "\tadjoint\tstep\tsolve\t0\t0\tstep_b.c\t50\tsolve_b\tstep_b\tptr,ptr\n"
             "source\tmodel\tstep\t0\tmodel.c\t20\tptr,i32\n"
             "source\tstep\tflux\t0\tstep.c\t30\tptr\n"
             "doubt\tpush\thelper_b\t7\tstores to\\ta stack\n"
             "novelty\tof a later version\n");
  raw.sites({model, step, flux, solve});
  raw.procedures({"model", "step", "flux", "solve"});
  std::string nodes;
  nodes += RawBuilder::node(2, 100, {});                                                  // 0: flux
  nodes += RawBuilder::node(3, 0, {});                                                    // 1: solve
  nodes += RawBuilder::node(1, 8, {{16, 1, 3, 32, 8, 4}, {64, 0, 2, 0, 0, 1}});           // 2: step; solve was reversed first
  nodes += RawBuilder::node(0xffffffffu, 0, {{0, 2, 1, 640, 64, 0}});                     // 3: body of the loop
  nodes += RawBuilder::node(0, 1, {{7, 3, kRawLoop, 10, 0, 0}});                          // 4: model
  raw.nodes(0, nodes);
  std::string contexts;
  contexts += RawBuilder::context(0xffffffffu, 0, 0,
                                  {{8, 1}, {24, 0}, {56, 7048}, {64, 7048}, {72, 7048}, {152, 700000000}, {160, 800000000}, {168, 8032}, {184, 80}});
  contexts += RawBuilder::context(0, 1, 1,
                                  {{8, 10}, {40, 10}, {56, 2280}, {64, 228}, {72, 228}, {80, 6400}, {88, 640}, {96, 640}, {104, 640},
                                   {112, 500000000}, {120, 1000}, {128, 3200}, {136, 4000}, {144, 6400}, {152, 3000}, {160, 5000}, {168, 8032},
                                   {176, 1 << 20}, {184, 40}});
  contexts += RawBuilder::context(1, 2, 2, {{16, 10}, {56, 1000}, {64, 100}, {72, 100}, {152, 100}, {160, 100}});
  contexts += RawBuilder::context(1, 3, 3, {{8, 10}, {24, 1}, {32, 2}, {40, 9}, {48, 3}, {80, 320}, {88, 32}, {96, 32}, {112, 50}});
  raw.contexts(0, contexts);
  raw.thread(0, 0, 8032, 20000, {{0, 4, 0, 0, 0, 2}});
  return raw;
}

} // namespace adprof::profile
