#include "cli/run_program.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace adprof::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr int kLeftToTheProgram[] = {SIGINT, SIGQUIT}; // the terminal sends them to both

volatile sig_atomic_t running_child = 0;

void pass_on(int signal) {
  if (running_child > 0)
    kill(static_cast<pid_t>(running_child), signal);
}

/// Signal handling of this process while a program runs.
class Signals {
public:
  Signals() {
    sigset_t all;
    sigemptyset(&all);
    for (int signal : kPassedOn)
      sigaddset(&all, signal);
    sigprocmask(SIG_BLOCK, &all, &mask_); // none is lost between the fork and the moment the child's number is known
    for (size_t i = 0; i < std::size(kPassedOn); ++i)
      install(kPassedOn[i], pass_on, passed_[i]);
    for (size_t i = 0; i < std::size(kLeftToTheProgram); ++i)
      install(kLeftToTheProgram[i], SIG_IGN, left_[i]);
  }
  ~Signals() {
    restore();
    running_child = 0;
  }
  void child_known(pid_t child) {
    running_child = child;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  /// As it was: in the child before exec.
  void restore() {
    for (size_t i = 0; i < std::size(kPassedOn); ++i)
      sigaction(kPassedOn[i], &passed_[i], nullptr);
    for (size_t i = 0; i < std::size(kLeftToTheProgram); ++i)
      sigaction(kLeftToTheProgram[i], &left_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

private:
  static void install(int signal, void (*handler)(int), struct sigaction &old) {
    struct sigaction action{};
    action.sa_handler = handler;
    sigaction(signal, &action, &old);
  }
  sigset_t mask_{};
  struct sigaction passed_[std::size(kPassedOn)]{}, left_[std::size(kLeftToTheProgram)]{};
};

} // namespace

Result<RawFolder> RawFolder::make(const std::string &parent) {
  const char *temporary = std::getenv("TMPDIR");
  std::string where = !parent.empty() ? parent : temporary && *temporary ? temporary : "/tmp";
  std::error_code ignored;
  fs::create_directories(where, ignored);
  std::string path = where + "/adprof.XXXXXX";
  if (!mkdtemp(path.data()))
    return std::unexpected(Error{ErrorKind::kUsage, where,
                                 std::string("no folder for raw profiles can be made there: ") + std::strerror(errno) +
                                     "; name another one with --raw or TMPDIR"});
  RawFolder folder;
  folder.path_ = fs::absolute(path).string(); // the program may change its directory before it starts others
  return folder;
}

RawFolder::~RawFolder() {
  if (path_.empty() || keep_)
    return;
  std::error_code ignored;
  for (const std::string &file : files())
    fs::remove(file, ignored);
  fs::remove(path_, ignored); // only if nothing else is in it
}

std::vector<std::string> RawFolder::files() const {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(path_, ignored))
    if (entry.path().filename().string().starts_with("raw."))
      files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

Result<ProgramEnd> run_program(const std::vector<std::string> &command, const std::string &output) {
  std::vector<char *> argv;
  for (const std::string &argument : command)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  int failure[2]; // the child's errno, where exec fails
  if (pipe2(failure, O_CLOEXEC) != 0)
    return std::unexpected(Error{ErrorKind::kUsage, command[0], std::string("can't be started: ") + std::strerror(errno)});
  Signals signals;
  auto start = std::chrono::steady_clock::now();
  pid_t child = fork();
  if (child == 0) {
    signals.restore();
    setenv("ADPROF_OUTPUT", output.c_str(), 1);
    execvp(argv[0], argv.data());
    int error = errno;
    [[maybe_unused]] ssize_t written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  int fork_error = errno;
  close(failure[1]);
  if (child < 0) {
    close(failure[0]);
    return std::unexpected(Error{ErrorKind::kUsage, command[0], std::string("can't be started: ") + std::strerror(fork_error)});
  }
  signals.child_known(child);
  int error = 0;
  ssize_t got;
  while ((got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  close(failure[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (got == sizeof error)
    return std::unexpected(Error{ErrorKind::kUsage, command[0],
                                 std::string("can't be started: ") + std::strerror(error) +
                                     (error == ENOENT && command[0].find('/') == std::string::npos
                                          ? "; it is not on PATH (write ./" + command[0] + " for the current folder)"
                                          : "")});
  ProgramEnd end;
  end.wall_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.status = end.signal ? 128 + end.signal : WEXITSTATUS(status);
  return end;
}

} // namespace adprof::cli
