// Temporary files and folders that are being written, in case an error ends the process without unwinding.
#pragma once
#include "runtime/platform/Folders.h"
#include <string>

namespace kedge::rt {

/// While it exists, remove() deletes `path`, a file or folder that this thread writes. Makes no allocation.
class Unfinished {
public:
  explicit Unfinished(const std::string &path) : path(path), older(newest) {
    if (older)
      older->newer = this;
    newest = this;
  }
  ~Unfinished() {
    (newer ? newer->older : newest) = older;
    if (older)
      older->newer = newer;
  }
  Unfinished(const Unfinished &) = delete;
  Unfinished &operator=(const Unfinished &) = delete;

  /// Called by a terminate handler.
  static void remove() {
    for (; newest; newest = newest->older)
      platform::removeAll(newest->path);
  }

private:
  const std::string &path;
  Unfinished *older, *newer = nullptr;
  inline static thread_local Unfinished *newest = nullptr;
};

} // namespace kedge::rt
