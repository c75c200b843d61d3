#include "runtime/core/AtomicFile.h"
#include "runtime/core/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace kedge::rt {

static constexpr size_t bufferBytes = 1 << 20;

AtomicFile::AtomicFile(std::string target) : path(std::move(target)) {
  temporary = fmt::format("{}.tmp-{}", path, ::getpid());
  fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    failed("create");
  buffer.reserve(bufferBytes);
}

AtomicFile::~AtomicFile() {
  if (fd < 0)
    return;
  ::close(fd);
  ::unlink(temporary.c_str());
}

void AtomicFile::failed(const char *action) {
  int reason = errno;
  fail("cannot {} '{}': {}. Nothing was written; free space or choose another place", action, path,
       std::strerror(reason));
}

void AtomicFile::write(const void *bytes, size_t count) {
  const char *next = static_cast<const char *>(bytes);
  written += count;
  while (count > 0) {
    size_t part = std::min(count, bufferBytes - buffer.size());
    buffer.insert(buffer.end(), next, next + part);
    next += part;
    count -= part;
    if (buffer.size() == bufferBytes)
      flush();
  }
}

void AtomicFile::flush() {
  size_t done = 0;
  while (done < buffer.size()) {
    ssize_t count = ::write(fd, buffer.data() + done, buffer.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      failed("write");
    done += static_cast<size_t>(count);
  }
  buffer.clear();
}

void AtomicFile::commit() {
  flush();
  if (::fsync(fd) != 0)
    failed("write");
  int closing = fd;
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    failed("rename the temporary file to");
  fd = -1;
  ::close(closing);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory); // makes the new name last; some file systems cannot, and that is no failure
    ::close(directory);
  }
}

} // namespace kedge::rt
