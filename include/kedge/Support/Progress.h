// Long computations report how far they are. Nothing is shown unless a tool asks for it.
#pragma once
#include <functional>
#include <string>

namespace kedge {

/// `share` is the finished part, from 0 to 1; 1 means that it has ended.
using ProgressListener = std::function<void(const std::string &what, double share)>;

void setProgressListener(ProgressListener listener);
void tellProgress(const std::string &what, double share);

/// One of several computations, as "row 2 of 6": while it lives, progress is told together with it.
class ProgressStage {
public:
  ProgressStage(const std::string &name, double share);
  ~ProgressStage();
  ProgressStage(const ProgressStage &) = delete;
  ProgressStage &operator=(const ProgressStage &) = delete;
};

/// Installs a listener that rewrites one line on standard error, at most ten times a
/// second, and removes it at the end. Does nothing if standard error is not a terminal.
void showProgressOnTerminal();

} // namespace kedge
