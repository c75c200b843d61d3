#include "runtime/platform/Files.h"
#include "runtime/platform/posix/Status.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

namespace kedge::rt::platform {

int64_t changedAt(const struct stat &status) {
  return int64_t(1'000'000'000) * status.st_mtimespec.tv_sec + status.st_mtimespec.tv_nsec;
}

/// fsync leaves what it wrote in the drive's own cache; F_FULLFSYNC empties that, too, where a file system
/// knows it.
bool syncFile(int descriptor) {
  return fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0 || errno == EINVAL ||
         errno == ENOTSUP || errno == EROFS;
}

bool exchangeNames(const std::string &one, const std::string &other) {
  return renamex_np(one.c_str(), other.c_str(), RENAME_SWAP) == 0;
}

/// In one piece, else in any; then the file gets that length.
Reserving reserveRoom(int descriptor, uint64_t bytes) {
  fstore_t room{F_ALLOCATECONTIG | F_ALLOCATEALL, F_PEOFPOSMODE, 0, static_cast<off_t>(bytes), 0};
  if (fcntl(descriptor, F_PREALLOCATE, &room) != 0) {
    room.fst_flags = F_ALLOCATEALL;
    if (fcntl(descriptor, F_PREALLOCATE, &room) != 0)
      return errno == ENOTSUP || errno == EINVAL ? Reserving::Impossible : Reserving::Failed;
  }
  return ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? Reserving::Done : Reserving::Failed;
}

bool passCache(int descriptor, bool passes) {
  return fcntl(descriptor, F_NOCACHE, passes ? 1 : 0) == 0 && passes;
}

/// There is no such hint; passCache keeps pages from being cached at all.
void dropFromCache(int, uint64_t, uint64_t) {}

std::optional<uint64_t> freeBytes(const std::string &folder) {
  struct statfs room{}; // whose counts have 64 bits, where those of statvfs have 32
  if (statfs(folder.c_str(), &room) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(room.f_bavail) * room.f_bsize;
}

} // namespace kedge::rt::platform
