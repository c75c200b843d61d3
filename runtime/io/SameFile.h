// Whether two paths name the same file. Compares device and inode, so links are seen through.
#pragma once
#include "runtime/platform/Files.h"

namespace kedge::rt {

/// False if one of them does not exist.
inline bool isSameFile(const std::string &left, const std::string &right) {
  const auto one = platform::factsOf(left), other = platform::factsOf(right);
  return one && other && one->device == other->device && one->inode == other->inode;
}

} // namespace kedge::rt
