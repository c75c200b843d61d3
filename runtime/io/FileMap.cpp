#include "runtime/io/FileMap.h"
#include "runtime/io/Error.h"
#include "runtime/io/MapGuard.h"
#include "runtime/io/ReadFiles.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Memory.h"
#include <cerrno>
#include <cstring>
#include <utility>

namespace kedge::rt {

FileMap::FileMap(const std::string &path, const std::string &what) : name(path) {
  const int descriptor = platform::openFile(path, platform::Opening::Read);
  if (descriptor < 0)
    fail("cannot open the {} '{}': {}", what, path, std::strerror(errno));
  const auto facts = platform::factsOf(descriptor);
  if (!facts || !facts->isRegular) {
    platform::closeFile(descriptor);
    fail("the {} '{}' is not a regular file", what, path);
  }
  noteRead(path, *facts);
  length = static_cast<size_t>(facts->bytes);
  if (length != 0) {
    bytes = platform::mapFile(descriptor, length);
    const int reason = errno;
    platform::closeFile(descriptor);
    if (!bytes)
      fail("cannot map the {} '{}': {}", what, path, std::strerror(reason));
    noteMap(bytes, length, path);
  } else {
    platform::closeFile(descriptor);
  }
}

FileMap::~FileMap() {
  if (!bytes)
    return;
  forgetMap(bytes);
  platform::unmapFile(bytes, length);
}

void FileMap::letGo(size_t offset, size_t count) const {
  constexpr size_t kPage = 4096;
  // Whole pages only: its neighbours in the first and the last one may not have been read yet.
  const size_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + count) / kPage * kPage;
  if (begin < end && end <= length)
    platform::releasePages(bytes + begin, end - begin);
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
