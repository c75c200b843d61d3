// Whether two paths name the same file. Compares device and inode, so links are seen through.
#pragma once
#include <string>
#include <sys/stat.h>

namespace kedge::rt {

/// False if one of them does not exist.
inline bool isSameFile(const std::string &left, const std::string &right) {
  struct stat one{}, other{};
  return stat(left.c_str(), &one) == 0 && stat(right.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

} // namespace kedge::rt
