#include "optimizer/profile/read_raw.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "optimizer/profile/check.h"
#include "optimizer/profile/merge.h"
#include "optimizer/profile/module_text.h"
#include "runtime/abi/raw_layout.h"

namespace adprof::profile {

namespace {

/// Thrown inside this file only; read_raw turns it into an Error.
struct Unreadable {
  ErrorKind kind;
  std::string what;
};

[[noreturn]] void invalid(const std::string &what) { throw Unreadable{ErrorKind::kInvalid, what}; }

std::uint64_t u64_at(std::string_view bytes, size_t offset) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(offset + static_cast<size_t>(i)));
  return value;
}
std::uint32_t u32_at(std::string_view bytes, size_t offset) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(offset + static_cast<size_t>(i)));
  return value;
}

std::int64_t bounded(std::uint64_t value, const char *name) {
  if (value > static_cast<std::uint64_t>(kLargestValue))
    invalid(std::string(name) + " is " + std::to_string(value) + ", accepted are 0 to 2^60");
  return static_cast<std::int64_t>(value);
}

/// Fields of one record by their offsets, which are part of the format.
class Record {
public:
  explicit Record(std::string_view bytes) : bytes_(bytes) {}
  std::uint32_t u32(size_t offset) const { return u32_at(bytes_, offset); }
  std::uint64_t u64(size_t offset) const { return u64_at(bytes_, offset); }
  std::int64_t size(size_t offset, const char *name) const { return bounded(u64(offset), name); }

private:
  std::string_view bytes_;
};

#define OFFSET(type, field) offsetof(struct adprof_raw_##type, field)
#define SIZE_OF(record, type, field) (record).size(OFFSET(type, field), #field)

/// What the segments of one thread hold, in file order.
struct RawThread {
  std::string_view state; ///< empty: killed before it was there
  std::string nodes, contexts;
};

struct RawFile {
  std::map<std::string, std::string> text;
  ModuleTexts modules;
  std::vector<std::uint64_t> site_keys, procedure_hashes;
  std::map<std::uint32_t, RawThread> threads;
};

void check_header(std::string_view bytes) {
  auto unreadable = [](const std::string &what) { throw Unreadable{ErrorKind::kUnreadable, what}; };
  if (!is_raw(bytes))
    unreadable("is no raw profile: it does not begin with " ADPROF_RAW_MAGIC);
  if (bytes.size() < ADPROF_RAW_HEADER_BYTES)
    unreadable("is truncated: " + std::to_string(bytes.size()) + " bytes, the header alone has " + std::to_string(ADPROF_RAW_HEADER_BYTES));
  Record header(bytes);
  if (header.u32(OFFSET(header, endian_mark)) != ADPROF_RAW_ENDIAN_MARK)
    unreadable("was written on a machine of other byte order; read it with an adprof there");
  if (header.u32(OFFSET(header, oldest_reader)) > ADPROF_RAW_VERSION)
    unreadable("raw profile version " + std::to_string(header.u32(OFFSET(header, version))) + " needs an adprof that reads version " +
               std::to_string(header.u32(OFFSET(header, oldest_reader))) + ", this one reads up to " + std::to_string(ADPROF_RAW_VERSION) +
               "; use the adprof the program was built with");
  if (header.u32(OFFSET(header, feature_bits)) != 0)
    unreadable("uses features " + std::to_string(header.u32(OFFSET(header, feature_bits))) + " that this adprof does not know; use a newer one");
  if (std::uint64_t size = header.u64(OFFSET(header, file_bytes)); size > bytes.size())
    unreadable("is truncated: " + std::to_string(bytes.size()) + " of " + std::to_string(size) + " bytes; copy it again");
  if (header.u64(OFFSET(header, tick_hz)) == 0)
    unreadable("holds nothing: the program ended before it was measured");
}

void read_text(std::string_view data, std::map<std::string, std::string> &text) {
  while (!data.empty()) {
    size_t end = std::min(data.find('\n'), data.size());
    std::string_view line = data.substr(0, end);
    if (size_t equals = line.find('='); equals != std::string_view::npos)
      text.emplace(line.substr(0, equals), line.substr(equals + 1));
    data.remove_prefix(std::min(end + 1, data.size()));
  }
}

void read_words(std::string_view data, std::vector<std::uint64_t> &words) {
  for (size_t at = 0; at + 8 <= data.size(); at += 8)
    words.push_back(u64_at(data, at));
}

RawFile read_segments(std::string_view bytes, const std::string &where) {
  RawFile file;
  std::uint64_t end = u64_at(bytes, OFFSET(header, file_bytes));
  for (std::uint64_t at = ADPROF_RAW_HEADER_BYTES; at + ADPROF_RAW_SEGMENT_HEADER_BYTES <= end;) {
    Record segment(bytes.substr(at, ADPROF_RAW_SEGMENT_HEADER_BYTES));
    std::uint32_t type = segment.u32(OFFSET(segment, type));
    std::uint64_t size = segment.u64(OFFSET(segment, bytes)), used = segment.u64(OFFSET(segment, used_bytes));
    if (type == ADPROF_SEGMENT_NONE)
      break;
    if (size < ADPROF_RAW_SEGMENT_HEADER_BYTES || size > end - at)
      invalid("segment at byte " + std::to_string(at) + " claims " + std::to_string(size) + " bytes, " + std::to_string(end - at) + " are left");
    if (used > size - ADPROF_RAW_SEGMENT_HEADER_BYTES)
      invalid("segment at byte " + std::to_string(at) + " claims " + std::to_string(used) + " bytes of data in " + std::to_string(size));
    std::string_view data = bytes.substr(at + ADPROF_RAW_SEGMENT_HEADER_BYTES, used);
    std::uint32_t thread = segment.u32(OFFSET(segment, thread));
    switch (type) {
    case ADPROF_SEGMENT_TEXT:
      read_text(data, file.text);
      break;
    case ADPROF_SEGMENT_MODULE:
      if (Result<void> added = file.modules.add(data, where); !added)
        throw Unreadable{added.error().kind, added.error().what};
      break;
    case ADPROF_SEGMENT_SITES:
      read_words(data, file.site_keys);
      break;
    case ADPROF_SEGMENT_PROCEDURES:
      read_words(data, file.procedure_hashes);
      break;
    case ADPROF_SEGMENT_NODES:
      file.threads[thread].nodes += data;
      break;
    case ADPROF_SEGMENT_CONTEXTS:
      file.threads[thread].contexts += data;
      break;
    case ADPROF_SEGMENT_THREAD:
      file.threads[thread].state = data;
      break;
    default: // of a later writer; the version says that it may be skipped
      break;
    }
    at += size;
  }
  return file;
}

/// Turns the records of one file into a Profile, thread by thread. Numbers in the file become positions by `base`.
class Converter {
public:
  Converter(const RawFile &file, Record header, Profile &out) : file_(file), header_(header), out_(out) {
    ns_per_tick_ = 1e9 / static_cast<double>(header.u64(OFFSET(header, tick_hz)));
    // The runtime leaves interrupted samples out of the cost of a hook; all other times contain the wait for a processor.
    hook_ns_ = static_cast<double>(SIZE_OF(header, header, hook_ticks)) / 1000 * ns_per_tick_;
    double cpu_ns = static_cast<double>(SIZE_OF(header, header, main_cpu_ns));
    double wait_ns = static_cast<double>(SIZE_OF(header, header, main_wait_ns));
    if (cpu_ns > 0)
      ns_per_tick_ *= cpu_ns / (cpu_ns + wait_ns);
  }

  void sites_and_procedures() {
    for (std::uint64_t hash : file_.procedure_hashes) {
      auto name = file_.modules.procedures().find(hash);
      out_.procedures.push_back(name != file_.modules.procedures().end() ? name->second : "procedure_" + hex(hash));
    }
    for (std::uint64_t key : file_.site_keys) {
      auto call = file_.modules.calls().find(key);
      if (call != file_.modules.calls().end()) {
        out_.sites.push_back(call->second.site);
        guessed_.push_back(call->second.guessed);
      } else {
        Site site;
        site.caller = "?";
        site.callee = "site_" + hex(key);
        out_.sites.push_back(site);
        guessed_.push_back(false);
      }
    }
    out_.doubts = file_.modules.doubts();
    out_.dialect = file_.modules.dialect();
  }

  void thread(const RawThread &raw) {
    size_t node_base = out_.nodes.size(), context_base = out_.contexts.size();
    nodes(raw.nodes, node_base);
    contexts(raw.contexts, context_base);
    if (raw.state.empty())
      return;
    if (raw.state.size() < sizeof(struct adprof_raw_thread))
      invalid("a thread's state has " + std::to_string(raw.state.size()) + " bytes, " + std::to_string(sizeof(struct adprof_raw_thread)) +
              " are expected");
    Record state(raw.state);
    Thread thread;
    thread.root = open_frames(raw.state, node_base);
    thread.stack_peak_bits = SIZE_OF(state, thread, peak_bits);
    thread.traffic_bits = SIZE_OF(state, thread, traffic_bits);
    out_.threads.push_back(thread);
  }

  void process() {
    Process p;
    auto text = [&](const char *key) {
      auto found = file_.text.find(key);
      return found == file_.text.end() ? std::string() : found->second;
    };
    p.command = text("command");
    p.executable = text("executable");
    p.build_id = text("build_id");
    p.host = text("host");
    p.rank = text("rank");
    out_.adprof_version = text("runtime_version");
    std::uint32_t state = header_.u32(OFFSET(header, state));
    p.finished = state == ADPROF_RAW_FINISHED;
    if (state == ADPROF_RAW_STOPPED)
      p.stop_reason = stop_text(header_.u32(OFFSET(header, stop_reason)));
    p.wall_ns = static_cast<double>(SIZE_OF(header_, header, wall_ns));
    p.cpu_ns = static_cast<double>(SIZE_OF(header_, header, cpu_ns));
    p.processor_wait_ns = static_cast<double>(SIZE_OF(header_, header, main_wait_ns));
    p.hook_ns = static_cast<double>(SIZE_OF(header_, header, hook_calls)) * hook_ns_;
    double root_ns = static_cast<double>(SIZE_OF(header_, header, root_ticks)) * ns_per_tick_;
    p.adjoint_ns = std::max(root_ns - root_hook_ns_, 0.0);
    p.resident_peak_bytes = SIZE_OF(header_, header, resident_peak_bytes);
    p.resident_other_bytes = SIZE_OF(header_, header, resident_other_bytes);
    for (const Thread &thread : out_.threads) {
      p.stack_peak_bits = saturating_add(p.stack_peak_bits, thread.stack_peak_bits);
      p.traffic_bits = saturating_add(p.traffic_bits, thread.traffic_bits);
    }
    auto own_count = [&](size_t offset, const char *name) {
      return header_.u64(offset) == UINT64_MAX ? std::int64_t{-1} : header_.size(offset, name);
    };
    p.adstack_peak_bytes = own_count(OFFSET(header, adstack_peak_bytes), "adstack_peak_bytes");
    p.adstack_traffic_bytes = own_count(OFFSET(header, adstack_traffic_bytes), "adstack_traffic_bytes");
    Losses &l = p.losses;
    l.reverse_calls = SIZE_OF(header_, header, reverse_calls);
    l.matched_unique = SIZE_OF(header_, header, matched_unique);
    l.matched_static = SIZE_OF(header_, header, matched_static);
    l.matched_latest = SIZE_OF(header_, header, matched_latest);
    l.unmatched_sliced = SIZE_OF(header_, header, unmatched_sliced);
    l.unmatched_unexplained = SIZE_OF(header_, header, unmatched_unexplained);
    l.unreversed_primal = SIZE_OF(header_, header, unreversed_primal);
    l.advance_calls = SIZE_OF(header_, header, advance_calls);
    l.anomalies = SIZE_OF(header_, header, anomalies);
    l.envelope_nodes = SIZE_OF(header_, header, envelope_nodes);
    out_.processes.push_back(p);
  }

  /// Calls that only looked like adjoints and turned out to be none.
  void drop_unused_guesses() {
    std::vector<bool> used(out_.sites.size());
    for (const Context &context : out_.contexts)
      if (context.site != kNoIndex && context.invocations_on + context.invocations_off + context.repeats + context.unreversed > 0)
        used[context.site] = true;
    for (const Node &node : out_.nodes)
      for (const Edge &edge : node.edges)
        if (edge.site != kNoIndex)
          used[edge.site] = true;
    std::vector<std::uint32_t> to(out_.sites.size(), kNoIndex);
    std::vector<Site> kept;
    for (size_t s = 0; s < out_.sites.size(); ++s)
      if (used[s] || !guessed_[s]) {
        to[s] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(std::move(out_.sites[s]));
      }
    out_.sites = std::move(kept);
    auto renumber = [&](auto &element) {
      if (element.site != kNoIndex)
        element.site = to[element.site];
    };
    std::ranges::for_each(out_.contexts, renumber);
    for (Node &node : out_.nodes)
      std::ranges::for_each(node.edges, renumber);
  }

private:
  static std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
  }

  static std::string stop_text(std::uint32_t reason) {
    switch (reason) {
    case ADPROF_STOP_NO_SPACE:
      return "no space left for the raw profile";
    case ADPROF_STOP_TOO_DEEP:
      return "more than " + std::to_string(ADPROF_RAW_FRAMES) + " nested adjoint procedures";
    case ADPROF_STOP_NO_MEMORY:
      return "no memory left for the profile";
    case ADPROF_STOP_ABI:
      return "an object was instrumented by another version of adprof";
    case ADPROF_STOP_TOO_MANY:
      return "more threads, sites, procedures or contexts than the format holds";
    default:
      return "collection stopped, reason " + std::to_string(reason);
    }
  }

  std::uint32_t procedure(std::uint64_t number) const {
    if (number >= ADPROF_NODE_ORDINARY && number <= ADPROF_NODE_SEQUENCE)
      return kNoIndex;
    if (number >= out_.procedures.size())
      invalid("procedure " + std::to_string(number) + " is named, the file lists " + std::to_string(out_.procedures.size()));
    return static_cast<std::uint32_t>(number);
  }
  std::uint32_t site(std::uint64_t number) const {
    if (number == ADPROF_ENTRY_NO_SITE)
      return kNoIndex;
    if (number >= out_.sites.size())
      invalid("site " + std::to_string(number) + " is named, the file lists " + std::to_string(out_.sites.size()));
    return static_cast<std::uint32_t>(number);
  }

  /// `words` are the four of an entry; own bits come from the entry reversed after it.
  Edge edge(const std::uint64_t (&words)[ADPROF_NODE_ENTRY_WORDS], size_t node_base, std::uint64_t node_count) const {
    Edge e;
    std::uint64_t child = words[1] & 0xffffffffu, high = words[1] >> 32, flags = words[3] >> 48;
    if (child >= node_count)
      invalid("an entry leads to node " + std::to_string(child) + ", which does not stand before it");
    e.node = static_cast<std::uint32_t>(node_base + child);
    if (high == ADPROF_ENTRY_LOOP) {
      e.kind = EdgeKind::kLoop;
      e.count = bounded(words[2], "iterations of a loop");
      return e;
    }
    if (high == ADPROF_ENTRY_BLOCK) {
      e.kind = EdgeKind::kBlock;
      return e;
    }
    e.site = site(high);
    e.snapshot_bits = bounded(words[2], "snapshot bits");
    e.kept_bits = bounded(words[3] & ((std::uint64_t{1} << 48) - 1), "kept bits");
    e.measured_on = !(flags & ADPROF_EDGE_OFF);
    e.has_primal = !(flags & ADPROF_EDGE_NO_PRIMAL);
    e.opaque = flags & ADPROF_EDGE_OPAQUE;
    e.estimate = flags & ADPROF_EDGE_ESTIMATE;
    if (!e.measured_on)
      e.snapshot_bits = 0;
    return e;
  }

  /// Entries stand in order of reversal, each with the own bits that follow it in the forward sweep; edges stand in forward
  /// order, each with the own bits before it. `word(i)` is word i of the entries.
  template <typename F>
  void fill(Node &node, std::uint64_t own_first, std::uint64_t entry_count, F &&word, size_t node_base, std::uint64_t node_count) const {
    std::uint64_t own = own_first;
    node.edges.reserve(entry_count);
    for (std::uint64_t i = entry_count; i-- > 0;) {
      std::uint64_t words[ADPROF_NODE_ENTRY_WORDS];
      for (size_t w = 0; w < ADPROF_NODE_ENTRY_WORDS; ++w)
        words[w] = word(i * ADPROF_NODE_ENTRY_WORDS + w);
      Edge e = edge(words, node_base, node_count);
      e.own_before_bits = bounded(own, "own bits");
      own = words[0];
      node.edges.push_back(e);
    }
    node.own_after_bits = bounded(own, "own bits");
  }

  void nodes(std::string_view bytes, size_t base) {
    for (std::uint64_t number = 0; !bytes.empty(); ++number) {
      if (bytes.size() < ADPROF_NODE_HEADER_WORDS * 8)
        invalid("node " + std::to_string(number) + " is cut off");
      std::uint64_t head = u64_at(bytes, 0), own_first = u64_at(bytes, 8), flags = u64_at(bytes, 16);
      std::uint64_t entries = head & 0xffffffffu;
      bytes.remove_prefix(ADPROF_NODE_HEADER_WORDS * 8);
      if (entries > bytes.size() / (ADPROF_NODE_ENTRY_WORDS * 8))
        invalid("node " + std::to_string(number) + " claims " + std::to_string(entries) + " entries, there is room for " +
                std::to_string(bytes.size() / (ADPROF_NODE_ENTRY_WORDS * 8)));
      Node node;
      node.procedure = procedure(head >> 32);
      node.envelope = flags & ADPROF_NODE_ENVELOPE;
      node.abandoned = flags & ADPROF_NODE_ABANDONED;
      fill(node, own_first, entries, [&](std::uint64_t w) { return u64_at(bytes, w * 8); }, base, number);
      bytes.remove_prefix(entries * ADPROF_NODE_ENTRY_WORDS * 8);
      out_.nodes.push_back(std::move(node));
    }
  }

  void contexts(std::string_view bytes, size_t base) {
    constexpr size_t kBytes = sizeof(struct adprof_raw_context);
    if (bytes.size() % kBytes != 0)
      invalid("the contexts of a thread end in the middle of one");
    for (size_t number = 0; number * kBytes < bytes.size(); ++number) {
      Record raw(bytes.substr(number * kBytes, kBytes));
      Context c;
      if (std::uint32_t parent = raw.u32(OFFSET(context, parent)); parent != kNoIndex) {
        if (parent >= number)
          invalid("context " + std::to_string(number) + " has the parent " + std::to_string(parent) + ", which does not stand before it");
        c.parent = static_cast<std::uint32_t>(base + parent);
      }
      c.site = site(raw.u32(OFFSET(context, site)));
      c.procedure = procedure(raw.u64(OFFSET(context, procedure)));
      c.invocations_on = SIZE_OF(raw, context, invocations_on);
      c.invocations_off = SIZE_OF(raw, context, invocations_off);
      c.invocations_sliced = SIZE_OF(raw, context, invocations_sliced);
      c.repeats = SIZE_OF(raw, context, repeats);
      c.primal_calls = SIZE_OF(raw, context, primal_calls);
      c.unreversed = SIZE_OF(raw, context, unreversed);
      c.kept_bits = SIZE_OF(raw, context, kept_total_bits);
      // The least starts at all ones: nothing seen yet.
      auto range = [&](size_t total, size_t least, size_t largest, const char *name) {
        Range r{raw.size(total, name), 0, raw.size(largest, name)};
        if (std::uint64_t lowest = raw.u64(least); lowest != UINT64_MAX)
          r.least = bounded(lowest, name);
        return r;
      };
      c.tape_bits = range(OFFSET(context, tape_total_bits), OFFSET(context, tape_least_bits), OFFSET(context, tape_largest_bits), "tape bits");
      c.snapshot_bits = range(OFFSET(context, snapshot_total_bits), OFFSET(context, snapshot_least_bits),
                              OFFSET(context, snapshot_largest_bits), "snapshot bits");
      auto ns = [&](size_t offset, const char *name) { return static_cast<double>(raw.size(offset, name)) * ns_per_tick_; };
      c.primal_ns = ns(OFFSET(context, primal_ticks), "primal ticks");
      // Until all are read: what was timed, and how many bits that covers.
      c.snapshot_write_ns = ns(OFFSET(context, write_ticks), "write ticks");
      c.snapshot_read_ns = ns(OFFSET(context, read_ticks), "read ticks");
      timed_bits_.push_back({static_cast<double>(SIZE_OF(raw, context, write_bits)), static_cast<double>(SIZE_OF(raw, context, read_bits))});
      double forward = ns(OFFSET(context, forward_ticks), "forward ticks"), backward = ns(OFFSET(context, backward_ticks), "backward ticks");
      double hooks = std::min(static_cast<double>(SIZE_OF(raw, context, hook_calls)) * hook_ns_, forward + backward);
      double left = forward + backward > 0 ? 1 - hooks / (forward + backward) : 1;
      c.forward_ns = forward * left;
      c.backward_ns = backward * left;
      if (c.parent == kNoIndex && c.site != kNoIndex && out_.sites[c.site].root)
        root_hook_ns_ += hooks;
      c.stack_peak_bits = SIZE_OF(raw, context, stack_peak_bits);
      c.resident_peak_bytes = SIZE_OF(raw, context, resident_peak_bytes);
      out_.contexts.push_back(c);
    }
  }

public:
  /// Scales the snapshot times from the bits that were timed to all bits; where nothing was timed, by the program's average rate.
  void scale_snapshot_times() {
    double write_ns = 0, read_ns = 0, write_bits = 0, read_bits = 0;
    for (size_t i = 0; i < out_.contexts.size(); ++i) {
      write_ns += out_.contexts[i].snapshot_write_ns;
      read_ns += out_.contexts[i].snapshot_read_ns;
      write_bits += timed_bits_[i].write;
      read_bits += timed_bits_[i].read;
    }
    for (size_t i = 0; i < out_.contexts.size(); ++i) {
      Context &c = out_.contexts[i];
      auto total = static_cast<double>(c.snapshot_bits.total);
      auto scaled = [&](double timed_ns, double timed_bits, double all_ns, double all_bits) {
        if (total == 0)
          return 0.0;
        if (timed_bits > 0)
          return timed_ns * (total / timed_bits);
        c.snapshot_time_estimated = true;
        return all_bits > 0 ? total * (all_ns / all_bits) : 0.0;
      };
      c.snapshot_write_ns = scaled(c.snapshot_write_ns, timed_bits_[i].write, write_ns, write_bits);
      c.snapshot_read_ns = scaled(c.snapshot_read_ns, timed_bits_[i].read, read_ns, read_bits);
    }
  }

private:
  /// The node of the ordinary code of a thread. Frames above it are open only where the program was killed, or where this
  /// file is read while it runs: each becomes the last reversed call of the one below.
  std::uint32_t open_frames(std::string_view bytes, size_t node_base) {
    Record state(bytes);
    std::uint64_t frames = state.u64(OFFSET(thread, frame_count)), entries = state.u64(OFFSET(thread, entry_count));
    std::uint64_t node_count = out_.nodes.size() - node_base;
    if (frames > ADPROF_RAW_FRAMES || entries > ADPROF_RAW_ENTRIES)
      invalid("a thread claims " + std::to_string(frames) + " open frames and " + std::to_string(entries) + " entries; at most " +
              std::to_string(ADPROF_RAW_FRAMES) + " and " + std::to_string(ADPROF_RAW_ENTRIES) + " are possible");
    frames = std::max<std::uint64_t>(frames, 1); // a thread that has ended keeps its roots in frame 0
    std::uint32_t inner = kNoIndex, inner_site = kNoIndex;
    bool inner_is_block = false;
    std::int64_t inner_base = SIZE_OF(state, thread, height_bits);
    std::uint64_t entries_end = entries;
    for (std::uint64_t f = frames; f-- > 0;) {
      Record frame(bytes.substr(OFFSET(thread, frames) + f * sizeof(struct adprof_raw_frame), sizeof(struct adprof_raw_frame)));
      std::uint64_t first = f == 0 ? 0 : frame.u32(OFFSET(frame, first_entry));
      if (first > entries_end)
        invalid("open frame " + std::to_string(f) + " begins behind its entries");
      std::int64_t base = SIZE_OF(frame, frame, base_bits), start_of_last = SIZE_OF(frame, frame, start_of_last_child_bits);
      std::uint32_t number = frame.u32(OFFSET(frame, procedure));
      Node node;
      node.procedure = procedure(number);
      node.abandoned = f > 0;
      // What lies between the base and the first call that is known: own bits, and calls that were not reversed any more.
      std::int64_t known_from = first < entries_end ? start_of_last : inner_base;
      fill(node, static_cast<std::uint64_t>(std::max<std::int64_t>(known_from - base, 0)), entries_end - first,
           [&](std::uint64_t w) { return u64_at(bytes, OFFSET(thread, entries) + (first * ADPROF_NODE_ENTRY_WORDS + w) * 8); }, node_base,
           node_count);
      if (inner != kNoIndex) {
        Edge e;
        e.kind = inner_is_block ? EdgeKind::kBlock : EdgeKind::kCall;
        e.site = inner_site;
        e.node = inner;
        e.own_before_bits = std::max<std::int64_t>(inner_base - base, 0);
        std::int64_t &after = node.edges.empty() ? node.own_after_bits : node.edges.front().own_before_bits;
        after = std::max<std::int64_t>(known_from - std::max(base, inner_base), 0);
        node.edges.insert(node.edges.begin(), e);
      }
      inner = static_cast<std::uint32_t>(out_.nodes.size());
      inner_is_block = number == ADPROF_NODE_BLOCK;
      inner_site = f > 0 && !inner_is_block ? site(frame.u32(OFFSET(frame, site))) : kNoIndex;
      inner_base = base;
      entries_end = first;
      out_.nodes.push_back(std::move(node));
    }
    return inner;
  }

  struct TimedBits {
    double write, read;
  };
  const RawFile &file_;
  Record header_;
  Profile &out_;
  double ns_per_tick_ = 0, hook_ns_ = 0, root_hook_ns_ = 0;
  std::vector<TimedBits> timed_bits_;
  std::vector<bool> guessed_;
};

} // namespace

bool is_raw(std::string_view bytes) { return bytes.starts_with(ADPROF_RAW_MAGIC); }

Result<Profile> read_raw(std::string_view bytes, const std::string &where) {
  Profile profile;
  try {
    check_header(bytes);
    RawFile file = read_segments(bytes, where);
    file.modules.join_sources();
    Converter convert(file, Record(bytes), profile);
    convert.sites_and_procedures();
    for (const auto &[index, thread] : file.threads)
      convert.thread(thread);
    convert.scale_snapshot_times();
    convert.process();
    convert.drop_unused_guesses();
  } catch (const Unreadable &problem) {
    return std::unexpected(Error{problem.kind, where, problem.what});
  }
  // Once before merging, which relies on the index rules, and once for its sums.
  if (Result<void> checked = check(profile, where); !checked)
    return std::unexpected(checked.error());
  profile = merge({profile});
  fix_opaque_sites(profile);
  if (Result<void> checked = check(profile, where); !checked)
    return std::unexpected(checked.error());
  return profile;
}

} // namespace adprof::profile
