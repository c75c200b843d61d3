#include "runtime/io/StateFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include <cerrno>
#include <cstring>
#include <vector>

namespace kedge::rt {

StateFile::StateFile(const std::string &directory, const std::string &stem, uint64_t bytes)
    : folder(directory), bytes(bytes) {
  descriptor = platform::makeNamelessFile(directory + "/kedge-" + stem);
  if (descriptor < 0)
    failToMake(errno, "made");
  try {
    reserve();
  } catch (...) {
    platform::closeFile(descriptor);
    throw;
  }
  isDirect = platform::passCache(descriptor, true);
}

StateFile::~StateFile() { platform::closeFile(descriptor); }

/// A disk that is full says so now, not in the middle of a step.
void StateFile::reserve() {
  const platform::Reserving done = platform::reserveRoom(descriptor, bytes);
  if (done == platform::Reserving::Failed)
    failToMake(errno, "given its size");
  if (done == platform::Reserving::Impossible)
    fillWithZeros();
}

void StateFile::fillWithZeros() {
  const std::vector<char> zeros(1 << 20);
  for (uint64_t done = 0; done < bytes;) {
    const int64_t count =
        platform::writeAt(descriptor, zeros.data(), std::min<uint64_t>(zeros.size(), bytes - done), done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      failToMake(count < 0 ? errno : ENOSPC, "given its size");
    done += static_cast<uint64_t>(count);
  }
}

void StateFile::failToMake(int error, const char *what) const {
  std::string free;
  if (const auto room = platform::freeBytes(folder))
    free = fmt::format(", and its file system has {} bytes free", *room);
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
  // What is written behind the end of a file that was cut would make zeros of what was lost before it.
  if (const auto facts = platform::factsOf(descriptor); facts && facts->bytes < bytes)
    failToMove(what, offset, count, 0);
  for (uint64_t done = 0; done < count;) {
    const int64_t moved = call(done);
    if (moved > 0) {
      done += static_cast<uint64_t>(moved);
      continue;
    }
    if (moved < 0 && errno == EINTR)
      continue;
    // Some file systems take the flag, and no such access.
    if (moved < 0 && errno == EINVAL && isDirect.exchange(false)) {
      platform::passCache(descriptor, false);
      continue;
    }
    failToMove(what, offset + done, count - done, moved < 0 ? errno : 0);
  }
  if (!isDirect)
    platform::dropFromCache(descriptor, offset, count);
}

void StateFile::read(uint64_t offset, char *to, uint64_t count) const {
  move("read", offset, count,
       [&](uint64_t done) { return platform::readAt(descriptor, to + done, count - done, offset + done); });
}

void StateFile::write(uint64_t offset, const char *from, uint64_t count) const {
  move("written", offset, count, [&](uint64_t done) {
    return platform::writeAt(descriptor, from + done, count - done, offset + done);
  });
}

} // namespace kedge::rt
