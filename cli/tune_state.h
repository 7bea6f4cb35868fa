/// What `adprof tune` has done so far, kept in a file so that an interrupted run goes on where it stopped: the loop is
/// run again from its start and takes every finished step from here instead of building and running it. Used by `tune`
/// only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/profile/error.h"

namespace adprof::cli {

enum class TrialOutcome { kGood, kBuildFailed, kRunFailed, kGradientDiffers };
std::string to_string(TrialOutcome outcome);

/// One placement, built, run and measured.
struct Trial {
  std::string folder;                 ///< within the folder of the tuning
  std::string purpose;                ///< "all on", "suggested", "bisection", "all on again"
  std::vector<std::string> off;       ///< names of the sites asked to be off; sorted
  std::vector<std::string> disobeyed; ///< sites that ran in another mode than asked
  TrialOutcome outcome = TrialOutcome::kGood;
  std::string detail; ///< why it is not good
  std::int64_t predicted_tape_bytes = 0, tape_bytes = 0, process_bytes = 0;
  double predicted_time_ns = 0, time_ns = 0; ///< inside adjoint roots, under measurement
};

/// One run at full speed.
struct PlainRun {
  std::string folder; ///< of the trial whose program ran
  double wall_ns = 0;
};

struct TuneState {
  std::map<std::string, std::string> settings; ///< what must be the same for going on
  std::vector<Trial> trials;
  std::vector<PlainRun> plain_runs;
};

std::string write_state(const TuneState &state);
Result<TuneState> read_state(const std::string &text, const std::string &where);

/// The command with `{name}` replaced. `{options}` is quoted for the place it stands in: within double quotes its own
/// quotes are escaped, behind an unquoted `=` it becomes one word.
std::string fill_in(const std::string &command, const std::map<std::string, std::string> &values);

} // namespace adprof::cli
