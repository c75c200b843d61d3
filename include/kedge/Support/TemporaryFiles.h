// Files and processes that a signal must not leave behind.
#pragma once
#include <string>
#include <sys/types.h>

namespace kedge {

/// A file, or a folder that is empty by then, which is removed when a signal ends the process. Removing it otherwise is the
/// owner's business; so is renaming it away.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

private:
  int slot;
};

/// A child, leader of its own process group, that ends with this process. 0: none any more.
void endWithProcess(pid_t child);

/// What a signal does before it ends the process.
void removeTemporaryFiles();

/// From now on signals that end the process remove what is temporary first; a write beyond the limit of file sizes is an
/// error of the write; a mapped file that becomes shorter ends the process with a message.
void catchEndingSignals();

} // namespace kedge
