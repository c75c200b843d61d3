#include "lib/Support/Progress.h"
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace kedge {
namespace {

ProgressListener &currentListener() {
  static ProgressListener listener;
  return listener;
}

/// Name and share of the stage under way; no name: none.
std::pair<std::string, double> &currentStage() {
  static std::pair<std::string, double> stage;
  return stage;
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
  const auto &[stage, before] = currentStage();
  if (!currentListener())
    return;
  if (stage.empty())
    currentListener()(what, share);
  else
    currentListener()(share < 1 ? fmt::format("{} ({}: {:.0f}%)", stage, what, 100 * share) : stage, before);
}

ProgressStage::ProgressStage(const std::string &name, double share) {
  currentStage() = {name, share};
  if (currentListener())
    currentListener()(name, share);
}

ProgressStage::~ProgressStage() {
  currentStage() = {};
  if (currentListener())
    currentListener()("", 1);
}

void showProgressOnTerminal() {
  if (isatty(STDERR_FILENO))
    setProgressListener([shown = ProgressClock::time_point()](const std::string &what, double share) mutable {
      rewriteLine(what, share, shown);
    });
}

} // namespace kedge
