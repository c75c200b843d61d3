// Prepares the descriptors 0 to 2 at the start, and checks standard output at the end.
#pragma once
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace kedge::rt {

/// Opens those that are closed; otherwise the next file opened would get their number and receive
/// messages. Also makes writing to a pipe without a reader an error instead of the end of the process.
inline void prepareStandardFiles() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY) < 0)
      _exit(1);
}

/// Whether nobody reads a pipe any more, as behind `| head`.
inline bool hasNoReader(int descriptor) {
  pollfd end{descriptor, POLLOUT, 0};
  return poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0;
}

/// Why standard output did not take everything that was written to it; empty if it did, or if its reader has
/// gone: he has what he wanted.
inline const char *lostOutput() {
  if ((std::fflush(stdout) == 0 && !std::ferror(stdout)) || hasNoReader(STDOUT_FILENO))
    return "";
  return std::strerror(errno == 0 ? EIO : errno);
}

} // namespace kedge::rt
