#include "optimizer/profile/json.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "optimizer/profile/check.h"
#include "optimizer/profile/hash.h"

namespace adprof::profile {

namespace {

// One list of members serves reader and writer: `visit` names each member once, and the two archives below do the rest.

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, SourceLine>
{
  a("file", v.file);
  a("line", v.line);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Site>
{
  a.required("caller", v.caller);
  a.required("callee", v.callee);
  a.required("ordinal", v.ordinal);
  a("primal", v.primal);
  a("adjoint", v.adjoint);
  a("root", v.root);
  a("fixed_reason", v.fixed_reason);
  a("signature", v.signature);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Range>
{
  a("total", v.total);
  a("least", v.least);
  a("largest", v.largest);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Context>
{
  a.index("parent", v.parent);
  a.index("site", v.site);
  a.index("procedure", v.procedure);
  a("invocations_on", v.invocations_on);
  a("invocations_off", v.invocations_off);
  a("invocations_sliced", v.invocations_sliced);
  a("repeats", v.repeats);
  a("primal_calls", v.primal_calls);
  a("unreversed", v.unreversed);
  a("tape_bits", v.tape_bits);
  a("snapshot_bits", v.snapshot_bits);
  a("kept_bits", v.kept_bits);
  a("primal_ns", v.primal_ns);
  a("snapshot_write_ns", v.snapshot_write_ns);
  a("snapshot_read_ns", v.snapshot_read_ns);
  a("snapshot_time_estimated", v.snapshot_time_estimated);
  a("forward_ns", v.forward_ns);
  a("backward_ns", v.backward_ns);
  a("stack_peak_bits", v.stack_peak_bits);
  a("resident_peak_bytes", v.resident_peak_bytes);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Edge>
{
  a("own_before_bits", v.own_before_bits);
  a("kind", v.kind);
  a.index("site", v.site);
  a.required("node", v.node);
  a("count", v.count);
  a("snapshot_bits", v.snapshot_bits);
  a("kept_bits", v.kept_bits);
  a("measured_on", v.measured_on);
  a("has_primal", v.has_primal);
  a("opaque", v.opaque);
  a("estimate", v.estimate);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Node>
{
  a.index("procedure", v.procedure);
  a("edges", v.edges);
  a("own_after_bits", v.own_after_bits);
  a("envelope", v.envelope);
  a("abandoned", v.abandoned);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Thread>
{
  a.required("process", v.process);
  a.index("root", v.root);
  a("stack_peak_bits", v.stack_peak_bits);
  a("traffic_bits", v.traffic_bits);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Losses>
{
  a("reverse_calls", v.reverse_calls);
  a("matched_unique", v.matched_unique);
  a("matched_static", v.matched_static);
  a("matched_latest", v.matched_latest);
  a("unmatched_sliced", v.unmatched_sliced);
  a("unmatched_unexplained", v.unmatched_unexplained);
  a("unreversed_primal", v.unreversed_primal);
  a("advance_calls", v.advance_calls);
  a("anomalies", v.anomalies);
  a("envelope_nodes", v.envelope_nodes);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Process>
{
  a("command", v.command);
  a("executable", v.executable);
  a("build_id", v.build_id);
  a("host", v.host);
  a("rank", v.rank);
  a("finished", v.finished);
  a("stop_reason", v.stop_reason);
  a("exit_status", v.exit_status);
  a("wall_ns", v.wall_ns);
  a("cpu_ns", v.cpu_ns);
  a("adjoint_ns", v.adjoint_ns);
  a("hook_ns", v.hook_ns);
  a("processor_wait_ns", v.processor_wait_ns);
  a("resident_peak_bytes", v.resident_peak_bytes);
  a("resident_other_bytes", v.resident_other_bytes);
  a("stack_peak_bits", v.stack_peak_bits);
  a("traffic_bits", v.traffic_bits);
  a("adstack_peak_bytes", v.adstack_peak_bytes);
  a("adstack_traffic_bytes", v.adstack_traffic_bytes);
  a("losses", v.losses);
}

template <typename Archive, typename T> void visit(Archive &a, T &v)
  requires std::same_as<std::remove_const_t<T>, Doubt>
{
  a("kind", v.kind);
  a("function", v.function);
  a("text", v.text);
  a("at", v.at);
}

constexpr const char *kKindNames[] = {"call", "loop", "block"};

class Writer {
public:
  template <typename T> static nlohmann::ordered_json value(const T &v) {
    Writer writer;
    visit(writer, v);
    return std::move(writer.json_);
  }
  template <typename T> void required(const char *name, const T &v) { json_[name] = v; }
  void index(const char *name, std::uint32_t v) {
    if (v != kNoIndex)
      json_[name] = v;
  }
  /// -1 is "unknown" for the AD stack's own counts, and like 0, false and "" it is the default of its member.
  template <typename T> void operator()(const char *name, const T &v) {
    if constexpr (std::same_as<T, EdgeKind>) {
      if (v != EdgeKind::kCall)
        json_[name] = kKindNames[static_cast<size_t>(v)];
    } else if constexpr (std::same_as<T, bool>) {
      bool usual = std::string_view(name) == "measured_on" || std::string_view(name) == "has_primal";
      if (v != usual)
        json_[name] = v;
    } else if constexpr (std::same_as<T, std::string>) {
      if (!v.empty())
        json_[name] = v;
    } else if constexpr (std::is_arithmetic_v<T>) {
      T usual = std::string_view(name) == "count" ? T(1) : std::string_view(name).starts_with("adstack_") ? T(-1) : T(0);
      if (v != usual)
        json_[name] = v;
    } else if constexpr (std::same_as<T, std::vector<Edge>>) {
      for (const Edge &edge : v)
        json_[name].push_back(value(edge));
    } else if (nlohmann::ordered_json inner = value(v); !inner.empty()) {
      json_[name] = std::move(inner);
    }
  }

private:
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

/// Thrown inside read_json only, to leave the parser's callback.
struct Unreadable {
  std::string what;
};

class Reader {
public:
  Reader(const nlohmann::json &json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object())
      throw Unreadable{path_ + " is " + json.type_name() + ", an object is expected"};
  }
  template <typename T> void required(const char *name, T &v) {
    if (!json_.contains(name))
      throw Unreadable{path_ + " has no member \"" + name + "\""};
    (*this)(name, v);
  }
  void index(const char *name, std::uint32_t &v) { (*this)(name, v); }
  template <typename T> void operator()(const char *name, T &v) {
    auto found = json_.find(name);
    if (found == json_.end())
      return;
    const nlohmann::json &given = *found;
    std::string path = path_ + "." + name;
    if constexpr (std::same_as<T, EdgeKind>) {
      const auto *kind = std::ranges::find_if(kKindNames, [&](const char *k) { return given == k; });
      if (kind == std::end(kKindNames))
        throw Unreadable{path + " is " + shown(given) + ", accepted are \"call\", \"loop\" and \"block\""};
      v = static_cast<EdgeKind>(kind - kKindNames);
    } else if constexpr (std::same_as<T, bool>) {
      if (!given.is_boolean())
        throw Unreadable{path + " is " + shown(given) + ", true or false is expected"};
      v = given.get<bool>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!given.is_string())
        throw Unreadable{path + " is " + shown(given) + ", a string is expected"};
      v = given.get<std::string>();
    } else if constexpr (std::same_as<T, double>) {
      if (!given.is_number())
        throw Unreadable{path + " is " + shown(given) + ", a number is expected"};
      v = given.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      // The parser makes a floating-point number of integers that do not fit into 64 bits.
      bool fits = given.is_number_unsigned() ? given.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                                             : given.is_number_integer() && std::numeric_limits<T>::is_signed;
      if (!fits)
        throw Unreadable{path + " is " + shown(given) + ", an integer of " + (std::numeric_limits<T>::is_signed ? "63" : "32") +
                         " bits is expected"};
      v = given.get<T>();
    } else if constexpr (std::same_as<T, std::vector<Edge>>) {
      if (!given.is_array())
        throw Unreadable{path + " is " + shown(given) + ", an array is expected"};
      for (const nlohmann::json &element : given) {
        Reader edge(element, path + "[" + std::to_string(v.size()) + "]");
        visit(edge, v.emplace_back());
      }
    } else {
      Reader inner(given, path);
      visit(inner, v);
    }
  }
  static std::string shown(const nlohmann::json &json) {
    std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return text.size() > 40 ? text.substr(0, 37) + "..." : text;
  }

private:
  const nlohmann::json &json_;
  std::string path_;
};

/// Calls `body(section name, vector)` for each array of objects in the file.
template <typename P, typename F> void each_section(P &profile, F &&body) {
  body("processes", profile.processes);
  body("threads", profile.threads);
  body("sites", profile.sites);
  body("contexts", profile.contexts);
  body("nodes", profile.nodes);
  body("doubts", profile.doubts);
}

constexpr const char *kFormat = "adprof-profile";

/// What stands at the top apart from the arrays that were consumed on the way.
Result<void> read_top(const nlohmann::json &top, Profile &profile, const std::string &where) {
  auto unreadable = [&](const std::string &what) { return std::unexpected(Error{ErrorKind::kUnreadable, where, what}); };
  if (!top.is_object() || !top.contains("format"))
    return unreadable("JSON, but no adprof profile: it has no \"format\": \"adprof-profile\"");
  if (top["format"] != kFormat)
    return unreadable("its format is " + Reader::shown(top["format"]) + ", a profile (\"adprof-profile\") is expected");
  for (const char *name : {"version", "oldest_reader"})
    if (!top.contains(name) || !top[name].is_number_unsigned())
      return unreadable(std::string("has no number \"") + name + "\"");
  if (std::uint64_t oldest = top["oldest_reader"].get<std::uint64_t>(); oldest > kJsonVersion)
    return unreadable("profile version " + top["version"].dump() + " needs an adprof that reads version " + std::to_string(oldest) +
                      ", this one reads up to " + std::to_string(kJsonVersion) + "; use a newer adprof");
  Reader reader(top, "profile");
  reader("adprof", profile.adprof_version);
  reader("dialect", profile.dialect);
  if (auto names = top.find("procedures"); names != top.end()) {
    if (!names->is_array() || !std::ranges::all_of(*names, [](const nlohmann::json &name) { return name.is_string(); }))
      return unreadable("procedures is no array of strings");
    profile.procedures = names->get<std::vector<std::string>>();
  }
  return {};
}

} // namespace

Result<Profile> read_json(std::string_view text, const std::string &where) {
  Profile profile;
  // Elements of the large arrays are converted and discarded one by one: a document tree of a million nodes takes
  // several GiB (about 100 bytes a member), the nodes themselves some 100 MiB.
  std::string section;
  auto consume = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json &parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > 16)
      throw Unreadable{"nested more than 16 deep"};
    if (event == Event::key && depth == 1)
      section = parsed.get<std::string>();
    if (event != Event::object_end || depth != 2)
      return true;
    bool consumed = false;
    each_section(profile, [&]<typename T>(const char *name, std::vector<T> &elements) {
      if (section != name)
        return;
      Reader reader(parsed, std::string(name) + "[" + std::to_string(elements.size()) + "]");
      visit(reader, elements.emplace_back());
      consumed = true;
    });
    return !consumed;
  };
  try {
    nlohmann::json top = nlohmann::json::parse(text, consume);
    if (Result<void> read = read_top(top, profile, where); !read)
      return std::unexpected(read.error());
    bool only_objects = true;
    each_section(profile, [&](const char *name, auto &) {
      if (top.contains(name) && !(top[name].is_array() && top[name].empty())) {
        only_objects = false;
        section = name;
      }
    });
    if (!only_objects)
      return std::unexpected(Error{ErrorKind::kUnreadable, where, section + " is no array of objects"});
  } catch (const Unreadable &problem) {
    return std::unexpected(Error{ErrorKind::kUnreadable, where, problem.what});
  } catch (const nlohmann::json::parse_error &error) {
    if (error.byte > text.size())
      return std::unexpected(Error{ErrorKind::kUnreadable, where,
                                   "ends in the middle of the JSON, after " + std::to_string(text.size()) +
                                       " bytes: truncated; copy it again, or take it again with `adprof run`"});
    return std::unexpected(Error{ErrorKind::kUnreadable, where,
                                 "is neither a raw nor a JSON profile: no JSON at byte " + std::to_string(error.byte)});
  } catch (const nlohmann::json::exception &error) {
    std::string what = error.what(); // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    return std::unexpected(Error{ErrorKind::kUnreadable, where, what.substr(what.find(' ') + 1)});
  }
  if (Result<void> checked = check(profile, where); !checked)
    return std::unexpected(checked.error());
  return profile;
}

std::string write_json(const Profile &profile) {
  nlohmann::ordered_json top;
  top["format"] = kFormat;
  top["version"] = kJsonVersion;
  top["oldest_reader"] = kJsonOldestReader;
  top["adprof"] = profile.adprof_version;
  top["dialect"] = profile.dialect;
  top["site_fingerprint"] = site_fingerprint(profile);
  top["procedures"] = profile.procedures;
  // Names come from compilers and command lines: bytes that are no UTF-8 are replaced rather than refused.
  auto dump = [](const nlohmann::ordered_json &json) { return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace); };
  std::string text = "{";
  for (const auto &[name, value] : top.items())
    text += (text.size() > 1 ? ",\n" : "\n") + dump(name) + ": " + dump(value);
  each_section(profile, [&](const char *name, const auto &elements) {
    text += ",\n\"" + std::string(name) + "\": [";
    const char *separator = "\n";
    for (const auto &element : elements) {
      text += separator + dump(Writer::value(element));
      separator = ",\n";
    }
    text += "]";
  });
  return text + "\n}\n";
}

std::string site_fingerprint(const Profile &profile) {
  std::vector<std::uint64_t> hashes;
  for (const Site &site : profile.sites)
    hashes.push_back(fnv1a(site.name() + '\0' + site.signature));
  std::ranges::sort(hashes);
  std::uint64_t hash = kFnvStart;
  for (std::uint64_t value : hashes)
    for (int shift = 0; shift < 64; shift += 8)
      hash = fnv1a_byte(hash, static_cast<unsigned char>(value >> shift));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

} // namespace adprof::profile
