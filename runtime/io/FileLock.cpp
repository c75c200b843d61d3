#include "runtime/io/FileLock.h"
#include "runtime/io/Error.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kedge::rt {
namespace {

std::string hostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

/// Who wrote the lock file: "process PID on HOST".
struct Holder {
  long process = 0;
  std::string host;

  explicit Holder(int descriptor) {
    char text[512] = "";
    if (pread(descriptor, text, sizeof(text) - 1, 0) <= 0)
      return;
    std::istringstream words(text);
    std::string before, between, name;
    if (words >> before >> process >> between >> name && before == "process" && between == "on")
      host = name;
  }
  /// Only where the file system keeps no locks: elsewhere the lock itself says so.
  bool mayLive() const {
    return !host.empty() &&
           (host != hostName() || kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
  }
  std::string text() const {
    return host.empty() ? "another program"
                        : fmt::format("another program (process {} on {})", process, host);
  }
};

bool isStillAt(const std::string &path, int descriptor) {
  struct stat opened{}, there{};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

} // namespace

FileLock::FileLock(const std::string &path, const std::string &what) : path(path) {
  constexpr int kAttempts = 100; // its last holder may remove the file while we take it
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (take(what))
      return;
  fail("{} cannot be locked: '{}' changes all the time", what, path);
}

bool FileLock::take(const std::string &what) {
  descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0)
    fail("{} cannot be locked: cannot create '{}': {}", what, path, std::strerror(errno));
  const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const bool refused = !locked && errno == EWOULDBLOCK;
  const Holder holder(descriptor);
  if (refused || (!locked && holder.mayLive())) {
    close(std::exchange(descriptor, -1));
    fail("{} is in use by {}: wait for it to end, or name another place{}", what, holder.text(),
         refused ? "" : fmt::format("; if that program is gone, remove '{}'", path));
  }
  if (isStillAt(path, descriptor)) {
    writeHolder();
    return true;
  }
  close(std::exchange(descriptor, -1));
  return false;
}

void FileLock::writeHolder() const {
  const std::string text = fmt::format("process {} on {}\n", getpid(), hostName());
  // Without its text the lock holds all the same: a full disk is told by what needs the space.
  if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text.data(), text.size(), 0) < 0)
    return;
}

FileLock::~FileLock() {
  if (descriptor < 0)
    return;
  unlink(path.c_str());
  close(descriptor);
}

} // namespace kedge::rt
