#include "runtime/platform/Files.h"
#include "runtime/platform/posix/Status.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kedge::rt::platform {

int64_t changedAt(const struct stat &status) {
  return int64_t(1'000'000'000) * status.st_mtim.tv_sec + status.st_mtim.tv_nsec;
}

bool syncFile(int descriptor) { return fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS; }

bool exchangeNames(const std::string &one, const std::string &other) {
  constexpr unsigned kExchange = 2; // RENAME_EXCHANGE: musl declares neither it nor renameat2
  return syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), kExchange) == 0;
}

Reserving reserveRoom(int descriptor, uint64_t bytes) {
  int result = 0;
  do
    result = fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0)
    return Reserving::Done;
  return errno == EOPNOTSUPP || errno == ENOSYS ? Reserving::Impossible : Reserving::Failed;
}

bool passCache(int descriptor, bool passes) {
  const int flags = fcntl(descriptor, F_GETFL);
  return fcntl(descriptor, F_SETFL, passes ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && passes;
}

void dropFromCache(int descriptor, uint64_t offset, uint64_t bytes) {
  posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

std::optional<uint64_t> freeBytes(const std::string &folder) {
  struct statvfs room{};
  if (statvfs(folder.c_str(), &room) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(room.f_bavail) * room.f_frsize;
}

} // namespace kedge::rt::platform
