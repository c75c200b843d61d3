// One program at a time: a lock file that says who holds it.
#pragma once
#include <string>

namespace kedge::rt {

/// Held as long as the object lives, and gone with its process: a lock file that a killed program left is taken over.
class FileLock {
public:
  /// Throws rt::Error that names `what`, and the holder's process and host, when another program holds it.
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
