#include "runtime/platform/Terminal.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kedge::rt::platform {

void prepareStandardFiles() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY) < 0)
      _exit(1);
}

/// Of a pipe Linux says POLLERR then, and macOS POLLHUP.
bool outputHasNoReader() {
  pollfd end{STDOUT_FILENO, POLLOUT, 0};
  return poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

bool errorIsTerminal() { return isatty(STDERR_FILENO) != 0; }

int terminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool writeError(const char *text, size_t count) {
  return write(STDERR_FILENO, text, count) >= 0 || errno == EINTR || errno == EAGAIN;
}

} // namespace kedge::rt::platform
