#include "lib/Support/Progress.h"
#include "lib/Support/Reporter.h"

namespace kedge {
namespace {

/// Name and share of this thread's stage under way; no name: none.
std::pair<std::string, double> &currentStage() {
  static thread_local std::pair<std::string, double> stage;
  return stage;
}

} // namespace

void tellProgress(const std::string &what, double share) {
  endIfCancelled();
  const auto &[stage, before] = currentStage();
  if (stage.empty())
    reporter().progress(what, share);
  else
    reporter().progress(share < 1 ? fmt::format("{} ({}: {:.0f}%)", stage, what, 100 * share) : stage,
                        before);
}

ProgressStage::ProgressStage(const std::string &name, double share) {
  endIfCancelled();
  currentStage() = {name, share};
  reporter().progress(name, share);
}

ProgressStage::~ProgressStage() {
  currentStage() = {};
  reporter().progress("", 1);
}

} // namespace kedge
