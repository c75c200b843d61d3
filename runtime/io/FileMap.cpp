#include "runtime/io/FileMap.h"
#include "runtime/io/Error.h"
#include "runtime/io/MapGuard.h"
#include "runtime/io/ReadFiles.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kedge::rt {

FileMap::FileMap(const std::string &path, const std::string &what) : name(path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer before it can be refused.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    fail("cannot open the {} '{}': {}", what, path, std::strerror(errno));
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    fail("the {} '{}' is not a regular file", what, path);
  }
  noteRead(path, status);
  length = static_cast<size_t>(status.st_size);
  if (length != 0) {
    void *mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    if (mapped == MAP_FAILED)
      fail("cannot map the {} '{}': {}", what, path, std::strerror(reason));
    bytes = static_cast<const char *>(mapped);
    noteMap(bytes, length, path);
  } else {
    close(descriptor);
  }
}

FileMap::~FileMap() {
  if (!bytes)
    return;
  forgetMap(bytes);
  munmap(const_cast<char *>(bytes), length);
}

void FileMap::letGo(size_t offset, size_t count) const {
  constexpr size_t kPage = 4096;
  // Whole pages only: its neighbours in the first and the last one may not have been read yet.
  const size_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + count) / kPage * kPage;
  if (begin < end && end <= length)
    madvise(const_cast<char *>(bytes) + begin, end - begin, MADV_DONTNEED);
}

FileMap::FileMap(FileMap &&other) noexcept
    : name(std::move(other.name)), bytes(std::exchange(other.bytes, nullptr)),
      length(std::exchange(other.length, 0)) {}

FileMap &FileMap::operator=(FileMap &&other) noexcept {
  std::swap(name, other.name);
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

} // namespace kedge::rt
