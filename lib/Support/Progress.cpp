#include "lib/Support/Progress.h"
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace kedge {
namespace {

ProgressListener &currentListener() {
  static ProgressListener listener;
  return listener;
}

using ProgressClock = std::chrono::steady_clock;

void rewriteLine(const std::string &what, double share, ProgressClock::time_point &shown) {
  const ProgressClock::time_point now = ProgressClock::now();
  if (share >= 1) {
    fprintf(stderr, "\r\x1b[K");
    shown = {};
  } else if (now - shown >= std::chrono::milliseconds(100)) {
    fprintf(stderr, "\r%s: %d%%\x1b[K", what.c_str(), static_cast<int>(100 * share));
    shown = now;
  }
  fflush(stderr);
}

} // namespace

void setProgressListener(ProgressListener listener) { currentListener() = std::move(listener); }

void tellProgress(const std::string &what, double share) {
  if (currentListener())
    currentListener()(what, share);
}

void showProgressOnTerminal() {
  if (isatty(STDERR_FILENO))
    setProgressListener([shown = ProgressClock::time_point()](const std::string &what, double share) mutable {
      rewriteLine(what, share, shown);
    });
}

} // namespace kedge
