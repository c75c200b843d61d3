// Ensures that only one program at a time uses something: a lock file that names its holder.
#pragma once
#include <string>

namespace kedge::rt {

/// Held while the object exists, and released when its process ends: the lock file of a killed program is
/// taken over.
class FileLock {
public:
  /// Throws rt::RuntimeError that names `what` and the process and host of the holder, if another program
  /// holds the lock.
  FileLock(const std::string &path, const std::string &what);
  ~FileLock();
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

private:
  bool take(const std::string &what);
  void writeHolder() const;

  std::string path;
  int descriptor = -1;
};

} // namespace kedge::rt
