// Checks standard output at the end.
#pragma once
#include "runtime/platform/Terminal.h"
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kedge::rt {

using platform::prepareStandardFiles;

/// Why standard output did not take everything that was written to it; empty if it did, or if its reader has
/// gone: he has what he wanted.
inline const char *lostOutput() {
  if ((std::fflush(stdout) == 0 && !std::ferror(stdout)) || platform::outputHasNoReader())
    return "";
  return std::strerror(errno == 0 ? EIO : errno);
}

} // namespace kedge::rt
