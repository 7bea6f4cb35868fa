#include "optimizer/feedback/forms.h"

#include "optimizer/feedback/options.h"

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

namespace adprof::feedback {

std::string c_header(const std::vector<Decision> &decisions, const std::string &fingerprint) {
  std::string text =
      "/* Written by `adprof apply --format header`: 1 where the call is checkpointed (joint mode), 0 where it is\n"
      " * split. Sites " +
      fingerprint + ". */\n#ifndef ADPROF_PLACEMENT_H\n#define ADPROF_PLACEMENT_H\n\n#define ADPROF_PLACEMENT_SITES " +
      std::to_string(decisions.size()) + "\n\n";
  std::map<std::string, int> uses;
  for (const Decision &decision : decisions) {
    std::string macro = "ADPROF_ON_" + decision.caller + "_" + decision.callee + "_" + std::to_string(decision.ordinal);
    for (char &c : macro)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    if (const int use = ++uses[macro]; use > 1)
      macro += "__" + std::to_string(use);
    text += "#define " + macro + (decision.on ? " 1" : " 0");
    if (decision.primal.line != 0) {
      std::string place = decision.primal.file + ":" + std::to_string(decision.primal.line);
      for (std::size_t at; (at = place.find("*/")) != std::string::npos;)
        place.replace(at, 2, "*.");
      text += " /* " + place + " */";
    }
    text += "\n";
  }
  return text + "\n#endif\n";
}

std::string decisions_json(const std::vector<Decision> &decisions, const std::string &fingerprint) {
  using Json = nlohmann::ordered_json;
  const Options options = option_lists(decisions);
  Json sites = Json::array(), lost = Json::array();
  for (const Decision &decision : decisions)
    sites.push_back({{"site", decision.name()},
                     {"caller", decision.caller},
                     {"callee", decision.callee},
                     {"ordinal", decision.ordinal},
                     {"file", decision.primal.file},
                     {"line", decision.primal.line},
                     {"mode", decision.on ? "on" : "off"},
                     {"switchable", decision.switchable}});
  for (const Loss &loss : options.losses)
    lost.push_back({{"group", loss.group}, {"chosen", loss.chosen_on ? "on" : "off"}, {"sites", loss.changed}});
  const Json document = {{"format", "adprof-decisions"},        {"version", 1}, {"fingerprint", fingerprint},
                         {"nocheckpoint", options.off_callees}, {"lost", lost}, {"sites", sites}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace adprof::feedback
