#include "runtime/io/StateFile.h"
#include "runtime/io/Error.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

namespace kedge::rt {

StateFile::StateFile(const std::string &directory, const std::string &stem, uint64_t bytes)
    : folder(directory), path(directory + "/kedge-" + stem + ".XXXXXX"), bytes(bytes) {
  descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0)
    failToMake(errno, "made");
  unlink(path.c_str());
  try {
    reserve();
  } catch (...) {
    close(descriptor);
    throw;
  }
  isDirect = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_DIRECT) == 0;
}

StateFile::~StateFile() { close(descriptor); }

/// A disk that is full says so now, not in the middle of a step.
void StateFile::reserve() {
  int result = 0;
  do
    result = fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0)
    return;
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    failToMake(errno, "given its size");
  fillWithZeros();
}

void StateFile::fillWithZeros() {
  const std::vector<char> zeros(1 << 20);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t count = pwrite(descriptor, zeros.data(), std::min<uint64_t>(zeros.size(), bytes - done),
                                 static_cast<off_t>(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      failToMake(count < 0 ? errno : ENOSPC, "given its size");
    done += static_cast<uint64_t>(count);
  }
}

void StateFile::failToMake(int error, const char *what) const {
  struct statvfs room{};
  std::string free;
  if (statvfs(folder.c_str(), &room) == 0)
    free = fmt::format(", and its file system has {} bytes free",
                       static_cast<uint64_t>(room.f_bavail) * room.f_frsize);
  fail("the file for offloaded states in '{}' cannot be {}: {}; it needs {} bytes ({:.2f} GiB){}: make room, "
       "or "
       "give another directory with --offload-dir DIR",
       folder, what, std::strerror(error), bytes, static_cast<double>(bytes) / (1 << 30), free);
}

void StateFile::failToMove(const char *what, uint64_t offset, uint64_t count, int error) const {
  fail("{} bytes at {} of the file for offloaded states in '{}' cannot be {}: {}; this run's states are "
       "lost, its "
       "checkpoints are whole: mend the disk, or give another directory with --offload-dir DIR, and go on "
       "with "
       "--resume",
       count, offset, folder, what, error == 0 ? "the file ends before them" : std::strerror(error));
}

template <typename Move>
void StateFile::move(const char *what, uint64_t offset, uint64_t count, Move call) const {
  for (uint64_t done = 0; done < count;) {
    const ssize_t moved = call(done);
    if (moved > 0) {
      done += static_cast<uint64_t>(moved);
      continue;
    }
    if (moved < 0 && errno == EINTR)
      continue;
    // Some file systems take the flag, and no such access.
    if (moved < 0 && errno == EINVAL && isDirect.exchange(false)) {
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_DIRECT);
      continue;
    }
    failToMove(what, offset + done, count - done, moved < 0 ? errno : 0);
  }
  if (!isDirect)
    posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(count), POSIX_FADV_DONTNEED);
}

void StateFile::read(uint64_t offset, char *to, uint64_t count) const {
  move("read", offset, count, [&](uint64_t done) {
    return pread(descriptor, to + done, count - done, static_cast<off_t>(offset + done));
  });
}

void StateFile::write(uint64_t offset, const char *from, uint64_t count) const {
  move("written", offset, count, [&](uint64_t done) {
    return pwrite(descriptor, from + done, count - done, static_cast<off_t>(offset + done));
  });
}

} // namespace kedge::rt
