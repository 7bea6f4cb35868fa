#include <gtest/gtest.h>

#include "optimizer/feedback/forms.h"

namespace {

using namespace adprof::feedback;

const std::vector<Decision> kDecisions = {{"m.step", "m.flux", 0, {"src/step.f90", 12}, false, true, 1},
                                          {"m_step", "m_flux", 0, {}, true, true, 1},
                                          {"m.step", "solve", 1, {"a*/b.f90", 3}, true, false, 0}};

TEST(Header, has_a_macro_for_each_site) {
  EXPECT_EQ(
      c_header(kDecisions, "00ff"),
      "/* Written by `adprof apply --format header`: 1 where the call is checkpointed (joint mode), 0 where it is\n"
      " * split. Sites 00ff. */\n"
      "#ifndef ADPROF_PLACEMENT_H\n#define ADPROF_PLACEMENT_H\n\n"
      "#define ADPROF_PLACEMENT_SITES 3\n\n"
      "#define ADPROF_ON_m_step_m_flux_0 0 /* src/step.f90:12 */\n"
      "#define ADPROF_ON_m_step_m_flux_0__2 1\n"
      "#define ADPROF_ON_m_step_solve_1 1 /* a*.b.f90:3 */\n"
      "\n#endif\n");
}

TEST(DecisionsJson, holds_what_the_lists_and_the_sites_say) {
  const std::string text = decisions_json(kDecisions, "00ff");
  EXPECT_NE(text.find("\"format\": \"adprof-decisions\""), std::string::npos);
  EXPECT_NE(text.find("\"nocheckpoint\": [\n  \"m.flux\"\n ]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"site\": \"m.step:m.flux:0\""), std::string::npos);
  EXPECT_NE(text.find("\"mode\": \"off\""), std::string::npos);
  EXPECT_NE(text.find("\"switchable\": false"), std::string::npos);
}

} // namespace
