// Long computations report how far they are, to the calling thread's reporter.
#pragma once
#include <string>

namespace kedge {

/// `share` is the finished part, from 0 to 1; 1 means that it has ended. Throws kedge::Error when the work is
/// to end.
void tellProgress(const std::string &what, double share);

/// One of several computations, as "row 2 of 6": while it lives, progress is told together with it.
class ProgressStage {
public:
  ProgressStage(const std::string &name, double share);
  ~ProgressStage();
  ProgressStage(const ProgressStage &) = delete;
  ProgressStage &operator=(const ProgressStage &) = delete;
};

} // namespace kedge
