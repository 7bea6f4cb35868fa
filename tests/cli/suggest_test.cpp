#include "in_temporary_folder.h"

#include <algorithm>
#include <map>

#include "optimizer/placement/placement_json.h"
#include "optimizer/profile/json.h"
#include "tests/oracle/call_trees.h"

namespace adprof::cli {
namespace {

class Suggest : public InTemporaryFolder {
protected:
  void SetUp() override {
    InTemporaryFolder::SetUp();
    tree_ = oracle::realistic_tree({oracle::Shape::kLayers, 3, 20, 0});
    write("adprof.json", profile::write_json(oracle::as_profile(tree_)));
  }

  int verb(const std::string &name, std::vector<std::string> rest) {
    rest.insert(rest.begin(), {name, path("adprof.json")});
    return run(rest);
  }
  int suggest(std::vector<std::string> rest) {
    rest.insert(rest.end(), {"-o", path("p.json")});
    return verb("suggest", rest);
  }
  placement::PlacementFile placement() const {
    auto file = placement::read_placement(read("p.json"), "p.json");
    EXPECT_TRUE(file) << file.error().what;
    return file ? *file : placement::PlacementFile{};
  }
  static std::size_t sites_off(const placement::PlacementFile &file) {
    return static_cast<std::size_t>(std::ranges::count_if(file.sites, [](const auto &site) { return !site.on; }));
  }
  bool says(const std::string &text) const { return out_.find(text) != std::string::npos || talk_.find(text) != std::string::npos; }

  model::CallTree tree_;
};

TEST_F(Suggest, a_budget_gives_an_optimal_placement_within_it) {
  ASSERT_EQ(suggest({"--budget", "1.2x"}), kDone) << talk_;
  const placement::PlacementFile file = placement();
  EXPECT_TRUE(file.certificate.optimal);
  EXPECT_LE(file.predicted_process_bytes, file.limit.process_bytes);
  EXPECT_LT(file.predicted_time_ns, file.measured_time_ns);
  EXPECT_EQ(file.sites.size(), tree_.sites.size() + 1);
  EXPECT_TRUE(says("optimal for this profile and this model")) << out_;
  EXPECT_TRUE(says("-nocheckpoint \"")) << out_;
  EXPECT_TRUE(says("next: `adprof apply")) << talk_;
}

TEST_F(Suggest, the_same_question_writes_the_same_bytes) {
  ASSERT_EQ(suggest({"--budget", "1.3x"}), kDone);
  const std::string first = read("p.json");
  ASSERT_EQ(suggest({"--budget", "1.3x"}), kDone);
  EXPECT_EQ(read("p.json"), first);
}

TEST_F(Suggest, an_impossible_budget_names_the_smallest_and_that_one_works) {
  EXPECT_EQ(suggest({"--budget", "1M"}), kAnswerIsNo);
  const std::string mark = "smallest budget that is possible is ";
  ASSERT_TRUE(says(mark)) << talk_;
  const std::size_t open = talk_.find('(', talk_.find(mark));
  const std::string bytes = talk_.substr(open + 1, talk_.find(' ', open) - open - 1);
  EXPECT_EQ(suggest({"--budget", bytes}), kDone) << talk_;
  EXPECT_EQ(suggest({"--budget", std::to_string(std::stoll(bytes) - 1)}), kAnswerIsNo);
}

TEST_F(Suggest, the_budget_of_the_tape_alone_leaves_the_rest_out) {
  ASSERT_EQ(suggest({"--tape-budget", "1.2x"}), kDone) << talk_;
  const placement::PlacementFile file = placement();
  EXPECT_EQ(file.limit.process_bytes, -1);
  EXPECT_LE(file.predicted_tape_bytes, file.limit.tape_bytes);
}

TEST_F(Suggest, wishes_are_kept_and_slips_are_answered) {
  ASSERT_EQ(suggest({"--budget", "1.5x"}), kDone);
  std::string off;
  for (const auto &site : placement().sites)
    if (!site.on && site.gain_ns > 0)
      off = site.name();
  ASSERT_FALSE(off.empty());
  ASSERT_EQ(suggest({"--budget", "1.5x", "--keep-on", off}), kDone);
  for (const auto &site : placement().sites)
    EXPECT_TRUE(site.name() != off || site.on);
  write("only.txt", "# one site\n" + off + "\n");
  ASSERT_EQ(suggest({"--budget", "1.5x", "--only", "@" + path("only.txt")}), kDone) << talk_;
  EXPECT_EQ(sites_off(placement()), 1u);
  EXPECT_EQ(suggest({"--budget", "1.5x", "--keep-on", "proc_x"}), kUnusable);
  EXPECT_TRUE(says("did you mean proc_")) << talk_;
  EXPECT_EQ(suggest({"--budget", "1.5x", "--keep-off", "model"}), kUnusable);
  EXPECT_TRUE(says("cannot be switched: root")) << talk_;
  EXPECT_EQ(suggest({"--budget", "1.5x", "--keep-off", off, "--keep-on", off}), kUnusable);
}

TEST_F(Suggest, by_callee_no_two_sites_of_one_callee_differ) {
  ASSERT_EQ(suggest({"--budget", "1.3x", "--granularity", "callee"}), kDone) << talk_;
  std::map<std::string, bool> mode;
  for (const auto &site : placement().sites)
    if (site.switchable) {
      EXPECT_EQ(mode.try_emplace(site.callee, site.on).first->second, site.on) << site.name();
    }
  EXPECT_FALSE(says("lost:")) << talk_;
}

TEST_F(Suggest, a_shorter_list_gets_most_of_the_gain) {
  ASSERT_EQ(suggest({"--budget", "2x"}), kDone);
  const placement::PlacementFile full = placement();
  ASSERT_EQ(suggest({"--budget", "2x", "--gain", "90%"}), kDone) << talk_;
  const placement::PlacementFile most = placement();
  EXPECT_LT(sites_off(most), sites_off(full));
  double full_gain = 0, most_gain = 0;
  for (std::size_t s = 0; s < full.sites.size(); ++s) {
    full_gain += full.sites[s].on ? 0 : full.sites[s].gain_ns;
    most_gain += most.sites[s].on ? 0 : most.sites[s].gain_ns;
  }
  EXPECT_GE(most_gain, 0.9 * full_gain);
  EXPECT_LE(most.predicted_process_bytes, most.limit.process_bytes);
  ASSERT_EQ(suggest({"--budget", "2x", "--list-length", "2"}), kDone) << talk_;
  EXPECT_LE(sites_off(placement()), 2u);
}

TEST_F(Suggest, a_time_limit_gives_the_least_memory) {
  ASSERT_EQ(suggest({"--max-slowdown", "1.3"}), kDone) << talk_;
  const placement::PlacementFile slow = placement();
  ASSERT_EQ(suggest({"--max-slowdown", "1.05"}), kDone) << talk_;
  EXPECT_GE(placement().predicted_process_bytes, slow.predicted_process_bytes);
  EXPECT_EQ(suggest({"--max-slowdown", "0.5"}), kAnswerIsNo);
}

TEST_F(Suggest, limits_are_asked_for) {
  EXPECT_EQ(suggest({}), kUnusable);
  EXPECT_TRUE(says("--budget 8G")) << talk_;
  EXPECT_EQ(suggest({"--budget", "1x", "--max-slowdown", "2"}), kUnusable);
  EXPECT_EQ(suggest({"--budget", "lots"}), kUnusable);
}

TEST_F(Suggest, json_is_the_placement_file) {
  ASSERT_EQ(suggest({"--budget", "1.2x", "--json"}), kDone);
  EXPECT_EQ(out_, read("p.json"));
}

TEST_F(Suggest, truncated_profiles_are_errors) {
  const std::string whole = read("adprof.json");
  for (std::size_t part = 1; part < 20; ++part) {
    write("adprof.json", whole.substr(0, whole.size() * part / 20));
    EXPECT_EQ(suggest({"--budget", "1.2x"}), kUnusable) << part;
  }
}

TEST_F(Suggest, predict_agrees_with_suggest) {
  ASSERT_EQ(suggest({"--budget", "1.2x"}), kDone);
  const placement::PlacementFile file = placement();
  ASSERT_EQ(verb("predict", {"--placement", path("p.json"), "--budget", "1.2x", "--json"}), kDone) << talk_;
  EXPECT_TRUE(says("\"tape_bytes\": " + std::to_string(file.predicted_tape_bytes))) << out_;
  EXPECT_TRUE(says("\"within_budget\": true")) << out_;
  EXPECT_EQ(verb("predict", {"--placement", path("p.json"), "--off", "proc_*", "--budget", "1.2x"}), kAnswerIsNo);
  EXPECT_TRUE(says("over the budget")) << talk_;
  EXPECT_TRUE(says("highest at the turn of main:model:0")) << out_;
  EXPECT_EQ(verb("predict", {}), kUnusable);
}

TEST_F(Suggest, pareto_falls_in_time_as_memory_grows) {
  ASSERT_EQ(verb("pareto", {"--points", "5", "--csv"}), kDone) << talk_;
  std::istringstream lines(out_);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "bytes,time_ns,slowdown,sites_off,optimal,gap,knee");
  double bytes = -1, time = 1e300;
  int points = 0, knees = 0;
  for (; std::getline(lines, line); ++points) {
    const double b = std::stod(line), t = std::stod(line.substr(line.find(',') + 1));
    EXPECT_GT(b, bytes);
    EXPECT_LT(t, time);
    bytes = b;
    time = t;
    knees += line.ends_with(",1");
  }
  EXPECT_GE(points, 2);
  EXPECT_EQ(knees, 1);
  ASSERT_EQ(verb("pareto", {"--points", "5"}), kDone);
  EXPECT_TRUE(says("<- knee"));
}

TEST_F(Suggest, explain_says_what_a_site_gains_and_what_makes_room) {
  ASSERT_EQ(suggest({"--budget", "1.2x"}), kDone);
  std::string on, off;
  for (const auto &site : placement().sites)
    if (site.switchable && site.gain_ns > 0)
      (site.on ? on : off) = site.name();
  ASSERT_FALSE(on.empty() || off.empty());
  for (const std::string &site : {on, off}) {
    ASSERT_EQ(run({"explain", site, path("adprof.json"), "--placement", path("p.json")}), kDone) << talk_;
    EXPECT_TRUE(says("off saves ")) << out_;
    EXPECT_TRUE(says("highest turn then: main:model:0")) << out_;
    EXPECT_TRUE(says(site == on ? "the best placement with it off takes " : "the best placement with it on takes ") ||
                says("is within the budget"))
        << out_;
  }
  ASSERT_EQ(run({"explain", "main:model:0", path("adprof.json"), "--placement", path("p.json")}), kDone) << talk_;
  EXPECT_TRUE(says("cannot be switched: root")) << out_;
  EXPECT_EQ(run({"explain", "proc_*", path("adprof.json"), "--placement", path("p.json")}), kUnusable);
  EXPECT_TRUE(says("name one")) << talk_;
}

} // namespace
} // namespace adprof::cli
