// Descriptors 0 to 2 of a process, as programs should find and leave them.
#pragma once
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace kedge::rt {

/// Those that are closed are opened: else the next file that is opened gets their number, and messages go into it.
/// Text for a pipe that nobody reads is an error of the write, not the end of the process.
inline void prepareStandardFiles() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY) < 0)
      _exit(1);
}

/// What stopped standard output from taking all that was written to it; empty when nothing did.
inline const char *lostOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return "";
  return std::strerror(errno == 0 ? EIO : errno);
}

} // namespace kedge::rt
