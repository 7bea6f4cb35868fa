/// `adprof run`: runs an instrumented program and writes its profile. See docs/run.md.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <unistd.h>

#include "cli/application.h"
#include "cli/run_program.h"
#include "cli/units.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/load.h"
#include "optimizer/profile/summary.h"

namespace adprof::cli {

namespace {

struct RunOptions {
  std::string output = "adprof.json";
  std::string raw;
  bool verbose = false, quiet = false;
};

/// Before hours of running: can the profile be written where it shall go?
Result<void> check_output(const std::string &output) {
  std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::string where = folder.empty() ? "." : folder.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(output, ignored))
    return std::unexpected(Error{ErrorKind::kUsage, output, "is a folder; name a file with -o"});
  bool exists = std::filesystem::exists(output, ignored);
  bool is_device = exists && !std::filesystem::is_regular_file(output, ignored);
  if (output != "-" && access(is_device ? output.c_str() : where.c_str(), W_OK) != 0)
    return std::unexpected(Error{ErrorKind::kUsage, output,
                                 "can't be written: " + (is_device ? "" : where + ": ") + std::strerror(errno) + "; name another file with -o"});
  return {};
}

std::string ended(const ProgramEnd &end) {
  std::string after = " after " + format_time(end.wall_ns);
  if (end.signal)
    return "was ended by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")" + after;
  return "ended with exit status " + std::to_string(end.status) + after;
}

std::string percent_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? " (" + format_percent(static_cast<double>(part) / static_cast<double>(whole)) + ")" : "";
}

void print_matching(const profile::Losses &l, std::ostream &talk) {
  auto line = [&](std::int64_t count, const char *what) {
    if (count > 0)
      talk << "adprof:   " << format_count(count) << " " << what << percent_of(count, l.reverse_calls) << "\n";
  };
  talk << "adprof: " << format_count(l.reverse_calls) << " reverse calls:\n";
  line(l.matched_unique, "matched by stack height alone");
  line(l.matched_static, "had several candidates, decided by the pass's pairing");
  line(l.matched_latest, "had several candidates, ambiguous: the latest was taken");
  line(l.unmatched_sliced, "have no primal call, as the code says: the tool sliced it away");
  line(l.unmatched_unexplained, "have no primal call though the code shows one: not understood");
  auto other = [&](std::int64_t count, const char *what) {
    if (count > 0)
      talk << "adprof: " << format_count(count) << " " << what << "\n";
  };
  other(l.unreversed_primal, "primal calls were never reversed (inactive)");
  other(l.advance_calls, "primal calls were advances of binomial loops");
  other(l.anomalies, "anomalies: heights that contradict last in, first out, or frames left by longjmp");
  other(l.envelope_nodes, "kinds of invocations were too many to tell apart: their sizes are upper bounds");
}

/// Sites that were reversed without being understood, counted over sites, not calls.
void print_not_understood(const profile::Profile &p, const profile::Summary &s, std::ostream &talk) {
  if (s.losses.unmatched_unexplained > 0)
    talk << "adprof: " << format_count(s.losses.unmatched_unexplained) << " of " << format_count(s.losses.reverse_calls)
         << " reverse calls not understood: no primal call fits; `adprof run --verbose` says more\n";
  std::vector<std::string> opaque;
  for (const profile::Site &site : p.sites)
    if (!site.fixed_reason.empty())
      opaque.push_back(site.name());
  if (!opaque.empty()) {
    talk << "adprof: " << opaque.size() << " of " << s.sites << " sites can't be switched (adjoint not compiled with adprof):";
    for (size_t i = 0; i < std::min<size_t>(opaque.size(), 3); ++i)
      talk << " " << opaque[i];
    talk << (opaque.size() > 3 ? " ...\n" : "\n");
  }
  if (!p.doubts.empty()) {
    talk << "adprof: " << p.doubts.size() << " places look like adjoint code and were not understood: " << p.doubts[0].function << ": "
         << p.doubts[0].text << (p.doubts.size() > 1 ? "; and others" : "") << "; see `adprof doctor`\n";
  }
}

void print_summary(const profile::Profile &p, const RunOptions &options, std::ostream &talk) {
  profile::Summary s = profile::summarize(p);
  talk << "adprof: adjoint " << format_time(s.adjoint_ns);
  if (s.adjoint_per_primal() > 0)
    talk << ", " << format_ratio(s.adjoint_per_primal()) << " times the primal (" << format_time(s.primal_ns)
         << ", estimated from primal runs and forward sweeps)";
  if (p.processes.size() > 1)
    talk << ", sums over " << p.processes.size() << " processes";
  talk << "\nadprof: recomputation " << format_time(s.recompute_ns) << ", " << format_percent(s.recompute_share()) << " of the adjoint\n";
  talk << "adprof: AD stack peak " << format_bytes(s.stack_peak_bytes);
  if (s.adstack_peak_bytes == s.stack_peak_bytes)
    talk << " (" << s.stack_peak_bytes << " bytes, the AD stack's own count says the same)";
  talk << ", resident peak " << format_bytes(s.resident_peak_bytes) << (p.processes.size() > 1 ? " (largest process)\n" : "\n");
  talk << "adprof: " << s.sites << " sites (" << s.sites_on << " on, " << s.sites_off << " off" << (s.sites_mixed ? ", " + std::to_string(s.sites_mixed) + " mixed" : "")
       << "), " << format_count(s.invocations) << " invocations\n";
  for (const std::string &sentence : profile::disagreements(p))
    talk << "adprof: warning: " << sentence << "; some pushes were not seen: compile all of the program with adprof cc, and see `adprof doctor`\n";
  for (const profile::Process &process : p.processes)
    if (!process.stop_reason.empty())
      talk << "adprof: warning: collection stopped early: " << process.stop_reason << "; the profile holds what came before\n";
  for (const profile::Process &process : p.processes)
    if (process.processor_wait_ns > 0.1 * process.cpu_ns) {
      talk << "adprof: the program waited " << format_time(process.processor_wait_ns) << " for a processor; that share is taken off all times\n";
      break;
    }
  print_not_understood(p, s, talk);
  if (options.verbose) {
    print_matching(s.losses, talk);
    talk << "adprof: measuring took about " << format_time(s.hook_ns) << "\n";
    for (const profile::Doubt &doubt : p.doubts)
      talk << "adprof: doubt: " << doubt.at.file << ":" << doubt.at.line << ": " << doubt.function << ": " << doubt.text << "\n";
  }
}

/// All raw profiles that can be read; what can't is named and left out. An error where none can.
Result<profile::Profile> read_all(const std::vector<std::string> &files, Io &io) {
  std::vector<std::string> readable;
  std::vector<Error> errors;
  for (const std::string &file : files) {
    if (Result<profile::Profile> p = profile::load(file); p)
      readable.push_back(file);
    else
      errors.push_back(p.error());
  }
  if (readable.empty())
    return std::unexpected(errors.front());
  for (const Error &error : errors)
    print_error(error, "run", io);
  return profile::load_merged(readable);
}

Result<int> run(const RunOptions &options, Io &io) {
  if (io.program.empty())
    return std::unexpected(Error{ErrorKind::kUsage, "command line", "no program to run; write `adprof run ./adjoint arguments`"});
  if (Result<void> writable = check_output(options.output); !writable)
    return std::unexpected(writable.error());
  Result<RawFolder> folder = RawFolder::make(options.raw);
  if (!folder)
    return std::unexpected(folder.error());
  if (!options.raw.empty())
    folder->keep();
  Result<ProgramEnd> end = run_program(io.program, folder->output());
  if (!end)
    return std::unexpected(end.error());
  const std::string &program = io.program[0];
  bool failed = end->status != 0;
  if (failed)
    io.talk << "adprof: " << program << " " << ended(*end) << "\n";
  // The program's own status, where it failed, else the usual "unusable".
  auto give_up = [&](const std::string &what) -> Result<int> {
    print_error({ErrorKind::kUsage, program, what}, "run", io);
    return failed ? end->status : kUnusable;
  };
  std::vector<std::string> files = folder->files();
  if (files.empty())
    return give_up(std::string(failed ? "left no profile: it ended before it was measured, or it" : "left no profile: it") +
                   " was not built with adprof's pass and runtime; compile and link it with `adprof cc` (`make CC=adprof-clang`)");
  Result<profile::Profile> p = read_all(files, io);
  if (!p)
    return give_up(p.error().where + ": " + p.error().what);
  if (profile::summarize(*p).roots == 0)
    return give_up("ran no adjoint: no call of an adjoint procedure from ordinary code was seen; does this input reach it? `adprof "
                   "doctor " + program + "` says what was recognised in it");
  for (profile::Process &process : p->processes)
    process.exit_status = end->status;
  if (Result<void> written = profile::write_file(options.output, profile::write_json(*p)); !written) {
    folder->keep();
    Error error = written.error();
    error.what += "; the raw profiles are kept in " + folder->path() + ", `adprof report FILE` reads them";
    print_error(error, "run", io);
    return failed ? end->status : kUnusable;
  }
  if (!options.quiet) {
    if (!failed && !p->processes[0].finished && p->processes[0].stop_reason.empty())
      io.talk << "adprof: the profile was not finished cleanly; it holds every finished part\n";
    print_summary(*p, options, io.talk);
    if (options.output != "-")
      io.talk << "adprof: wrote " << options.output << "; next: adprof report " << (options.output == "adprof.json" ? "" : options.output + " ")
              << "or adprof suggest --budget 1.1x" << (options.output == "adprof.json" ? "" : " " + options.output) << "\n";
    if (!options.raw.empty())
      io.talk << "adprof: raw profiles in " << folder->path() << "\n";
  }
  return end->status;
}

} // namespace

void add_run(CLI::App &app, Action &action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *verb = app.add_subcommand("run", "Run an instrumented program and write its profile");
  verb->footer("adprof run [OPTIONS] [--] PROGRAM [ARGUMENTS...]: what stands behind PROGRAM is the program's own.");
  verb->add_option("-o,--output", options->output, "The profile to write; - for standard output")->capture_default_str();
  verb->add_option("--raw", options->raw, "Keep the raw profiles in a new folder within this one (ranks on several hosts: a shared one)");
  verb->add_flag("-v,--verbose", options->verbose, "Say how many reverse calls were matched by what");
  verb->add_flag("-q,--quiet", options->quiet, "No summary");
  verb->prefix_command();
  verb->callback([options, &action] { action = [options](Io &io) { return run(*options, io); }; });
}

} // namespace adprof::cli
