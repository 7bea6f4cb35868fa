/// The searches put together: the fastest placement under a budget, the smallest under a time, the front between them, each with
/// a certificate. Called by the verbs; opens nothing and prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "optimizer/placement/certificate.h"
#include "optimizer/placement/problem.h"
#include "optimizer/profile/error.h"

namespace adprof::placement {

struct SolveOptions {
  std::vector<Mode> wishes;      ///< per site; empty: all free
  bool by_callee = false;        ///< sites of one callee are in one mode
  bool whole_process = true;     ///< budgets count what else is resident; false: the AD stack alone
  double seconds = 10;           ///< caps; work limits end the search before on most inputs
  bool exact = true;             ///< false: local search only
  /// Called now and then with what is going on.
  std::function<void(const std::string &)> progress;
};

struct Answer {
  model::Placement placement;      ///< of all sites
  std::vector<Bits> peaks;         ///< per process, AD stack
  std::int64_t load_bytes = 0;     ///< the largest need of a process, as budgets count it
  double time_ns = 0;
  Certificate certificate;
};

class Solver {
public:
  /// The tree has passed model::check_tree and outlives the solver.
  Solver(const model::CallTree &tree, SolveOptions options);

  /// Least memory that any placement needs, with the fastest placement known for it. The certificate counts bytes.
  const Answer &least_memory();
  /// No placement within `budget_bytes`: kInfeasible, and the message names the least.
  Result<Answer> fastest(std::int64_t budget_bytes);
  /// No placement within `time_limit_ns`: kInfeasible.
  Result<Answer> smallest(double time_limit_ns);
  /// From the least memory to the least time, at most about `points`, none dominated by another.
  std::vector<Answer> front(std::size_t points);

  Answer evaluate(const model::Placement &placement) const; ///< certificate left empty
  /// Time with every switchable site off, within the wishes.
  double time_all_off() const { return all_off_ns_; }

private:
  struct Known {
    model::Placement decisions;
    Bits load;
    double time_ns;
  };
  void remember(const model::Placement &decisions);
  const Known *best_within(Bits budget) const;
  void start_search();
  void climb(Bits budget);
  bool out_of_time() const;
  void say(const std::string &what) const;

  const model::CallTree &tree_;
  SolveOptions options_;
  Problem problem_;
  model::PeakModel peak_;
  model::PeakModel full_peak_;
  double all_off_ns_ = 0;
  double deadline_ns_ = 0;
  std::int64_t moves_ = 0;
  bool clock_stopped_ = false;
  bool started_ = false;
  Bits least_bound_ = 0;      ///< no placement needs less
  std::vector<Known> known_;  ///< none dominated by another; smallest load first
  Bits climbed_to_ = 0;       ///< budget of the last rung that was searched
  Answer least_;
};

} // namespace adprof::placement
