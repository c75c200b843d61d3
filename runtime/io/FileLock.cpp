#include "runtime/io/FileLock.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Process.h"
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

namespace kedge::rt {
namespace {

/// Who wrote the lock file: "process PID on HOST".
struct Holder {
  long process = 0;
  std::string host;

  explicit Holder(int descriptor) {
    char text[512] = "";
    if (platform::readAt(descriptor, text, sizeof(text) - 1, 0) <= 0)
      return;
    std::istringstream words(text);
    std::string before, between, name;
    if (words >> before >> process >> between >> name && before == "process" && between == "on")
      host = name;
  }
  /// Only where the file system keeps no locks: elsewhere the lock itself says so.
  bool mayLive() const {
    return !host.empty() && (host != platform::hostName() || platform::mayLive(process));
  }
  std::string text() const {
    return host.empty() ? "another program"
                        : fmt::format("another program (process {} on {})", process, host);
  }
};

bool isStillAt(const std::string &path, int descriptor) {
  const auto opened = platform::factsOf(descriptor), there = platform::factsOf(path);
  return opened && there && opened->device == there->device && opened->inode == there->inode;
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
  descriptor = platform::openFile(path, platform::Opening::Update);
  if (descriptor < 0)
    fail("{} cannot be locked: cannot create '{}': {}", what, path, std::strerror(errno));
  const platform::Locking lock = platform::lockFile(descriptor);
  const bool locked = lock == platform::Locking::Locked, refused = lock == platform::Locking::Held;
  const Holder holder(descriptor);
  if (refused || (!locked && holder.mayLive())) {
    platform::closeFile(std::exchange(descriptor, -1));
    fail("{} is in use by {}: wait for it to end, or name another place{}", what, holder.text(),
         refused ? "" : fmt::format("; if that program is gone, remove '{}'", path));
  }
  if (isStillAt(path, descriptor)) {
    writeHolder();
    return true;
  }
  platform::closeFile(std::exchange(descriptor, -1));
  return false;
}

void FileLock::writeHolder() const {
  const std::string text = fmt::format("process {} on {}\n", platform::processId(), platform::hostName());
  // Without its text the lock holds all the same: a full disk is told by what needs the space.
  if (platform::cutFile(descriptor, 0) && platform::writeAt(descriptor, text.data(), text.size(), 0) < 0)
    return;
}

FileLock::~FileLock() {
  if (descriptor < 0)
    return;
  platform::removeFile(path);
  platform::closeFile(descriptor);
}

} // namespace kedge::rt
