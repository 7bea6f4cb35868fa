#include "cli/tune_state.h"

#include <nlohmann/json.hpp>

namespace adprof::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr TrialOutcome kOutcomes[] = {TrialOutcome::kGood, TrialOutcome::kBuildFailed, TrialOutcome::kRunFailed,
                                      TrialOutcome::kGradientDiffers};

} // namespace

std::string to_string(TrialOutcome outcome) {
  switch (outcome) {
  case TrialOutcome::kGood:
    return "good";
  case TrialOutcome::kBuildFailed:
    return "build failed";
  case TrialOutcome::kRunFailed:
    return "run failed";
  case TrialOutcome::kGradientDiffers:
    return "gradient differs";
  }
  return "";
}

std::string write_state(const TuneState &state) {
  Json trials = Json::array(), plain = Json::array();
  for (const Trial &t : state.trials)
    trials.push_back({{"folder", t.folder},
                      {"purpose", t.purpose},
                      {"outcome", to_string(t.outcome)},
                      {"detail", t.detail},
                      {"predicted_tape_bytes", t.predicted_tape_bytes},
                      {"tape_bytes", t.tape_bytes},
                      {"process_bytes", t.process_bytes},
                      {"predicted_time_ns", t.predicted_time_ns},
                      {"time_ns", t.time_ns},
                      {"disobeyed", t.disobeyed},
                      {"off", t.off}});
  for (const PlainRun &run : state.plain_runs)
    plain.push_back({{"folder", run.folder}, {"wall_ns", run.wall_ns}});
  const Json document = {{"format", "adprof-tune-state"},
                         {"version", kVersion},
                         {"settings", state.settings},
                         {"trials", trials},
                         {"plain_runs", plain}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TuneState> read_state(const std::string &text, const std::string &where) {
  const auto bad = [&](const std::string &what) {
    return std::unexpected(
        Error{ErrorKind::kUnreadable, where, what + "; name another folder with --dir to begin anew"});
  };
  try {
    const Json document = Json::parse(text);
    if (document.at("format") != "adprof-tune-state" || document.at("version") != kVersion)
      return bad("not a state of this version of `adprof tune`");
    TuneState state;
    state.settings = document.at("settings").get<std::map<std::string, std::string>>();
    for (const Json &json : document.at("trials")) {
      Trial t;
      t.folder = json.at("folder");
      t.purpose = json.at("purpose");
      const std::string outcome = json.at("outcome");
      bool known = false;
      for (const TrialOutcome one : kOutcomes)
        if (to_string(one) == outcome) {
          t.outcome = one;
          known = true;
        }
      if (!known)
        return bad("an unknown outcome '" + outcome + "'");
      t.detail = json.at("detail");
      t.predicted_tape_bytes = json.at("predicted_tape_bytes");
      t.tape_bytes = json.at("tape_bytes");
      t.process_bytes = json.at("process_bytes");
      t.predicted_time_ns = json.at("predicted_time_ns");
      t.time_ns = json.at("time_ns");
      t.disobeyed = json.at("disobeyed").get<std::vector<std::string>>();
      t.off = json.at("off").get<std::vector<std::string>>();
      state.trials.push_back(std::move(t));
    }
    for (const Json &json : document.at("plain_runs"))
      state.plain_runs.push_back({json.at("folder"), json.at("wall_ns")});
    return state;
  } catch (const Json::exception &error) {
    return bad(std::string("can't be read: ") + error.what());
  }
}

std::string fill_in(const std::string &command, const std::map<std::string, std::string> &values) {
  std::string result;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '{') {
      const std::size_t close = command.find('}', i);
      const auto found = close == command.npos ? values.end() : values.find(command.substr(i + 1, close - i - 1));
      if (found != values.end()) {
        const bool word_of_assignment = quote == 0 && i > 0 && command[i - 1] == '=';
        if (word_of_assignment)
          result += "'" + found->second + "'"; // names hold no quotes, see tune.cpp
        else
          for (const char v : found->second)
            result += quote == '"' && v == '"' ? "\\\"" : std::string(1, v);
        i = close;
        continue;
      }
    }
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      result += c;
      result += command[++i];
      continue;
    }
    if ((c == '"' || c == '\'') && (quote == 0 || quote == c))
      quote = quote == 0 ? c : 0;
    result += c;
  }
  return result;
}

} // namespace adprof::cli
