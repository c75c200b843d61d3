// Files and child processes that must not remain when a signal ends this process.
#pragma once
#include <functional>
#include <string>
#include <sys/types.h>

namespace kedge {

/// A file, or a folder with all that is in it, which is removed if a signal ends
/// the process. In all other cases the owner removes or renames it.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

private:
  int slot;
};

/// `start` starts a child, the leader of its own process group, and returns its id, 0 if there is none. The
/// child ends together with this process: a signal that comes meanwhile waits until the child is known.
void startWithProcess(const std::function<pid_t()> &start);
/// 0: no child any more.
void endWithProcess(pid_t child);

/// Called by a signal handler before the process ends.
void removeTemporaryFiles();

/// From now on signals that end the process remove temporary files first. A write beyond the limit of
/// file sizes fails with an error. If a mapped file becomes shorter, the process ends with a message.
void catchEndingSignals();

} // namespace kedge
