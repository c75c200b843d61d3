#include "runtime/platform/Files.h"
#include "runtime/platform/posix/Status.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace kedge::rt::platform {
namespace {

constexpr int kMode = 0644;

FileFacts factsFrom(const struct stat &status) {
  return {S_ISREG(status.st_mode), static_cast<uint64_t>(status.st_dev), status.st_ino,
          static_cast<uint64_t>(status.st_size), changedAt(status)};
}

int flagsOf(Opening how) {
  switch (how) {
  case Opening::Read:
    return O_RDONLY | O_NONBLOCK;
  case Opening::Replace:
    return O_WRONLY | O_CREAT | O_TRUNC;
  case Opening::Create:
    return O_WRONLY | O_CREAT | O_EXCL;
  case Opening::Append:
    return O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
  case Opening::Update:
    return O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  }
  return O_RDONLY;
}

} // namespace

int openFile(const std::string &path, Opening how) {
  return open(path.c_str(), flagsOf(how) | O_CLOEXEC, kMode);
}

bool closeFile(int descriptor) { return close(descriptor) == 0; }

int64_t writeNext(int descriptor, const void *from, size_t count) { return write(descriptor, from, count); }

int64_t readAt(int descriptor, void *to, size_t count, uint64_t offset) {
  return pread(descriptor, to, count, static_cast<off_t>(offset));
}

int64_t writeAt(int descriptor, const void *from, size_t count, uint64_t offset) {
  return pwrite(descriptor, from, count, static_cast<off_t>(offset));
}

bool cutFile(int descriptor, uint64_t bytes) {
  return ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 || errno == EINVAL; // a device or a pipe
}

bool cutEnd(int descriptor, uint64_t count) {
  const off_t end = lseek(descriptor, 0, SEEK_CUR);
  return end < static_cast<off_t>(count) || ftruncate(descriptor, end - static_cast<off_t>(count)) == 0;
}

void syncFolder(const std::string &path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  fsync(descriptor);
  close(descriptor);
}

std::optional<FileFacts> factsOf(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0)
    return std::nullopt;
  return factsFrom(status);
}

std::optional<FileFacts> factsOf(const std::string &path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0)
    return std::nullopt;
  return factsFrom(status);
}

bool removeFile(const std::string &path) { return unlink(path.c_str()) == 0; }

bool replaceFile(const std::string &from, const std::string &to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool isWritableFolder(const std::string &path) { return access(path.c_str(), W_OK) == 0; }

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool isPlainName(const std::string &name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

bool isAbsolute(const std::string &path) { return !path.empty() && path[0] == '/'; }

bool meansFull(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

Locking lockFile(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return Locking::Locked;
  return errno == EWOULDBLOCK ? Locking::Held : Locking::Unknown;
}

int makeNamelessFile(const std::string &path) {
  std::string name = path + ".XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0)
    unlink(name.c_str());
  return descriptor;
}

} // namespace kedge::rt::platform
