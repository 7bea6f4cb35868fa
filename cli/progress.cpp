#include "cli/progress.h"

#include <ostream>

#include "cli/table.h"

namespace adprof::cli {

using namespace std::chrono_literals;

Progress::Progress(Io &io, std::string what)
    : io_(io), what_(std::move(what)), next_(std::chrono::steady_clock::now() + 1s) {}

Progress::~Progress() {
  if (shown_)
    io_.talk << "\r\x1b[K" << std::flush;
}

void Progress::update(const std::string &detail) {
  auto now = std::chrono::steady_clock::now();
  if (!io_.talk_is_terminal || now < next_)
    return;
  next_ = now + 100ms;
  shown_ = true;
  io_.talk << "\r\x1b[K" << shorten(what_ + ": " + detail, 79) << std::flush;
}

} // namespace adprof::cli
