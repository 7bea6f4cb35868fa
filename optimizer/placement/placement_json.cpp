#include "optimizer/placement/placement_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace adprof::placement {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Reads members of one object; the first problem wins.
class Reader {
public:
  Reader(const Json &json, std::string path, std::string &problem) : json_(json), path_(std::move(path)), problem_(problem) {
    if (!json.is_object())
      fail("", "is not an object");
  }

  const Json *member(const char *name, bool required) {
    if (!json_.is_object())
      return nullptr;
    auto found = json_.find(name);
    if (found != json_.end())
      return &*found;
    if (required)
      fail(name, "is missing");
    return nullptr;
  }
  void text(const char *name, std::string &value, bool required = false) {
    if (const Json *json = member(name, required)) {
      if (json->is_string())
        value = json->get<std::string>();
      else
        fail(name, "is " + shown(*json) + ", accepted is a string");
    }
  }
  void flag(const char *name, bool &value, bool required = false) {
    if (const Json *json = member(name, required)) {
      if (json->is_boolean())
        value = json->get<bool>();
      else
        fail(name, "is " + shown(*json) + ", accepted are true and false");
    }
  }
  template <typename Integer> void integer(const char *name, Integer &value, bool required = false) {
    constexpr std::int64_t largest = std::is_same_v<Integer, std::uint32_t> ? 0xffffffffll : std::int64_t{1} << 60;
    if (const Json *json = member(name, required)) {
      bool good = json->is_number_unsigned() ? json->get<std::uint64_t>() <= static_cast<std::uint64_t>(largest)
                                             : json->is_number_integer() && json->get<std::int64_t>() >= 0;
      if (good)
        value = static_cast<Integer>(json->get<std::int64_t>());
      else
        fail(name, "is " + shown(*json) + ", accepted are whole numbers from 0 to " + std::to_string(largest));
    }
  }
  void number(const char *name, double &value, bool required = false) {
    if (const Json *json = member(name, required)) {
      if (json->is_number() && std::isfinite(json->get<double>()) && json->get<double>() >= 0)
        value = json->get<double>();
      else
        fail(name, "is " + shown(*json) + ", accepted are numbers from 0");
    }
  }
  void fail(const std::string &name, const std::string &what) {
    if (problem_.empty())
      problem_ = path_ + (path_.empty() || name.empty() ? "" : ".") + name + " " + what;
  }
  std::string path(const char *name) const { return path_.empty() ? name : path_ + "." + name; }

private:
  static std::string shown(const Json &json) {
    std::string text = dump(json);
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }
  const Json &json_;
  std::string path_;
  std::string &problem_;
};

void read_site(Reader &reader, PlacedSite &site) {
  reader.text("caller", site.caller, true);
  reader.text("callee", site.callee, true);
  reader.integer("ordinal", site.ordinal, true);
  reader.text("file", site.file);
  reader.integer("line", site.line);
  reader.flag("on", site.on, true);
  reader.flag("switchable", site.switchable);
  reader.text("fixed_reason", site.fixed_reason);
  reader.number("gain_ns", site.gain_ns);
  reader.flag("measured", site.measured);
  std::string name = site.name();
  reader.text("name", name);
  if (name != site.name())
    reader.fail("name", "is \"" + name + "\", but caller, callee and ordinal say \"" + site.name() + "\"");
}

Json site_json(const PlacedSite &site) {
  Json json;
  json["name"] = site.name();
  json["caller"] = site.caller;
  json["callee"] = site.callee;
  json["ordinal"] = site.ordinal;
  json["file"] = site.file;
  json["line"] = site.line;
  json["on"] = site.on;
  json["switchable"] = site.switchable;
  if (!site.fixed_reason.empty())
    json["fixed_reason"] = site.fixed_reason;
  json["gain_ns"] = site.gain_ns;
  json["measured"] = site.measured;
  return json;
}

} // namespace

Result<PlacementFile> read_placement(std::string_view text, const std::string &where) {
  auto unreadable = [&](const std::string &what) {
    return std::unexpected(Error{ErrorKind::kUnreadable, where, what + "; write a placement with `adprof suggest -o FILE`"});
  };
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return unreadable("is not JSON, or is truncated");
  std::string problem, format;
  PlacementFile file;
  Reader top(json, "", problem);
  top.text("format", format, true);
  if (problem.empty() && format != "adprof-placement")
    return unreadable("format is \"" + format + "\", accepted is \"adprof-placement\"");
  std::uint32_t version = 0, oldest = 0;
  top.integer("version", version, true);
  oldest = version;
  top.integer("oldest_reader", oldest);
  if (problem.empty() && oldest > kPlacementVersion)
    return std::unexpected(Error{ErrorKind::kUnreadable, where,
                                 "placement format " + std::to_string(version) + " needs a reader of format " + std::to_string(oldest) +
                                     ", this one reads up to " + std::to_string(kPlacementVersion) + "; use a newer adprof"});
  top.text("adprof_version", file.adprof_version);
  top.text("profile", file.profile);
  top.text("site_fingerprint", file.site_fingerprint, true);
  if (const Json *limit = top.member("limit", false)) {
    Reader reader(*limit, "limit", problem);
    reader.integer("process_bytes", file.limit.process_bytes);
    reader.integer("tape_bytes", file.limit.tape_bytes);
    reader.number("slowdown", file.limit.slowdown);
  }
  if (const Json *predicted = top.member("predicted", true)) {
    Reader reader(*predicted, "predicted", problem);
    reader.integer("tape_bytes", file.predicted_tape_bytes, true);
    reader.integer("process_bytes", file.predicted_process_bytes, true);
    reader.number("time_ns", file.predicted_time_ns, true);
  }
  if (const Json *measured = top.member("measured", false)) {
    Reader reader(*measured, "measured", problem);
    reader.integer("tape_bytes", file.measured_tape_bytes);
    reader.number("time_ns", file.measured_time_ns);
  }
  if (const Json *certificate = top.member("certificate", false)) {
    Reader reader(*certificate, "certificate", problem);
    Certificate &c = file.certificate;
    reader.flag("optimal", c.optimal);
    reader.number("value", c.value);
    reader.number("lower_bound", c.lower_bound);
    reader.flag("stopped_by_clock", c.stopped_by_clock);
    reader.integer("solver_nodes", c.solver_nodes);
    reader.integer("moves", c.moves);
    reader.text("method", c.method);
  }
  if (const Json *sites = top.member("sites", true)) {
    if (!sites->is_array())
      top.fail("sites", "is not an array");
    std::set<std::string> names;
    for (size_t i = 0; sites->is_array() && i < sites->size() && problem.empty(); ++i) {
      Reader reader((*sites)[i], "sites[" + std::to_string(i) + "]", problem);
      read_site(reader, file.sites.emplace_back());
      if (problem.empty() && !names.insert(file.sites.back().name()).second)
        reader.fail("", "repeats the site " + file.sites.back().name());
    }
  }
  if (!problem.empty())
    return unreadable(problem);
  return file;
}

std::string write_placement(const PlacementFile &file) {
  Json top;
  top["format"] = "adprof-placement";
  top["version"] = kPlacementVersion;
  top["oldest_reader"] = kPlacementOldestReader;
  top["adprof_version"] = file.adprof_version;
  top["profile"] = file.profile;
  top["site_fingerprint"] = file.site_fingerprint;
  Json limit = Json::object();
  if (file.limit.process_bytes >= 0)
    limit["process_bytes"] = file.limit.process_bytes;
  if (file.limit.tape_bytes >= 0)
    limit["tape_bytes"] = file.limit.tape_bytes;
  if (file.limit.slowdown > 0)
    limit["slowdown"] = file.limit.slowdown;
  top["limit"] = limit;
  top["predicted"] = {{"tape_bytes", file.predicted_tape_bytes},
                      {"process_bytes", file.predicted_process_bytes},
                      {"time_ns", file.predicted_time_ns}};
  top["measured"] = {{"tape_bytes", file.measured_tape_bytes}, {"time_ns", file.measured_time_ns}};
  const Certificate &c = file.certificate;
  top["certificate"] = {{"optimal", c.optimal},           {"gap", c.gap()},
                        {"value", c.value},               {"lower_bound", c.lower_bound},
                        {"stopped_by_clock", c.stopped_by_clock}, {"solver_nodes", c.solver_nodes},
                        {"moves", c.moves},               {"method", c.method},
                        {"words", in_words(c)}};
  std::string text = "{";
  for (const auto &[name, value] : top.items())
    text += (text.size() > 1 ? ",\n" : "\n") + dump(name) + ": " + dump(value);
  text += ",\n\"sites\": [";
  const char *separator = "\n";
  for (const PlacedSite &site : file.sites) {
    text += separator + dump(site_json(site));
    separator = ",\n";
  }
  return text + "]\n}\n";
}

} // namespace adprof::placement
