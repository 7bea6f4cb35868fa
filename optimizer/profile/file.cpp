#include "optimizer/profile/file.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace adprof::profile {

namespace {

std::unexpected<Error> failed(const std::string &path, const std::string &verb, const std::string &next = "") {
  return std::unexpected(Error{ErrorKind::kUnreadable, path, "could not be " + verb + ": " + std::strerror(errno) + next});
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

} // namespace

Result<std::string> read_file(const std::string &path) {
  int descriptor = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failed(path, "read");
  std::string text;
  struct stat status{};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    text.reserve(static_cast<size_t>(status.st_size));
  constexpr size_t kChunk = 1 << 16;
  auto chunk = std::make_unique<char[]>(kChunk);
  ssize_t got = 0;
  while ((got = ::read(descriptor, chunk.get(), kChunk)) != 0) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      break;
    text.append(chunk.get(), static_cast<size_t>(got));
  }
  int error = errno;
  if (path != "-")
    ::close(descriptor);
  errno = error;
  if (got < 0)
    return failed(path, "read");
  return text;
}

Result<void> write_file(const std::string &path, std::string_view text) {
  if (path == "-")
    return write_all(STDOUT_FILENO, text) ? Result<void>() : failed("standard output", "written");
  struct stat status{};
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return failed(path, "written");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      return failed(path, "written");
    bool written = write_all(descriptor, text);
    ::close(descriptor);
    return written ? Result<void>() : failed(path, "written");
  }
  std::string target = path;
  if (exists)
    if (std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free); real)
      target = real.get();
  std::string beside = target + ".XXXXXX";
  int descriptor = ::mkstemp(beside.data());
  if (descriptor < 0)
    return failed(path, "written", "; is its directory there and writable?");
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, exists ? status.st_mode & 07777 : 0666 & ~mask);
  bool written = write_all(descriptor, text);
  written = ::close(descriptor) == 0 && written;
  if (!written || ::rename(beside.c_str(), target.c_str()) != 0) {
    int error = errno;
    ::unlink(beside.c_str());
    errno = error;
    return failed(path, "written");
  }
  return {};
}

} // namespace adprof::profile
