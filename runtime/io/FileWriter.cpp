#include "runtime/io/FileWriter.h"
#include "runtime/io/Error.h"
#include "runtime/io/Interruption.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr size_t kBufferBytes = 1 << 20; // a multiple of 8: only the last flush has a tail
constexpr uint64_t kHashSeed = 0xcbf29ce484222325ull;

uint64_t hashWords(uint64_t hash, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min<size_t>(8, count - i));
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 29;
  }
  return hash;
}

} // namespace

FileWriter::FileWriter(const std::string &path, const std::string &meantFor)
    : name(path), shown(meantFor.empty() ? path : meantFor), hash(kHashSeed) {
  buffer.reserve(kBufferBytes); // first: what fails leaves no file
  descriptor = platform::openFile(path, platform::Opening::Replace);
  if (descriptor < 0)
    fail("cannot create '{}': {}", shown, std::strerror(errno));
}

FileWriter::~FileWriter() {
  if (descriptor >= 0)
    platform::closeFile(descriptor);
}

void FileWriter::write(const void *bytes, size_t count) {
  const char *next = static_cast<const char *>(bytes);
  total += count;
  while (count != 0) {
    const size_t part = std::min(count, kBufferBytes - buffer.size());
    buffer.insert(buffer.end(), next, next + part);
    next += part;
    count -= part;
    if (buffer.size() == kBufferBytes)
      flush();
  }
}

void FileWriter::flush() {
  hash = hashWords(hash, buffer.data(), buffer.size());
  const char *next = buffer.data();
  size_t left = buffer.size();
  while (left != 0) {
    const int64_t written = platform::writeNext(descriptor, next, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      failWith(written < 0 ? errno : ENOSPC);
    next += written;
    left -= static_cast<size_t>(written);
    stored += static_cast<uint64_t>(written);
  }
  buffer.clear();
}

void FileWriter::failWith(int reason) const {
  const bool full = platform::meansFull(reason);
  fail("cannot write '{}': {} after {} bytes{}", shown, std::strerror(reason), stored,
       full ? "; free some space, or name another folder" : "");
}

void FileWriter::replaceFirst(std::string_view bytes) {
  flush();
  uint64_t at = 0;
  while (!bytes.empty()) {
    const int64_t written = platform::writeAt(descriptor, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      failWith(written < 0 ? errno : ENOSPC);
    at += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void FileWriter::finish() {
  flush();
  const bool synced = platform::syncFile(descriptor);
  const int reason = errno;
  const bool closed = platform::closeFile(descriptor);
  descriptor = -1;
  if (!synced || !closed)
    failWith(synced ? errno : reason);
}

std::string FileWriter::checksum() const { return fmt::format("{:016x}", hash); }

std::string checksumOf(const void *bytes, size_t count) {
  constexpr size_t kPart = size_t(16) << 20; // a multiple of 8
  uint64_t hash = kHashSeed;
  for (size_t at = 0; at < count; at += kPart) {
    askToGoOn();
    hash = hashWords(hash, static_cast<const char *>(bytes) + at, std::min(kPart, count - at));
  }
  return fmt::format("{:016x}", hash);
}

std::string besideFile(const std::string &path, const std::string &location) {
  const std::string named = folderOf(path) + "/" + location;
  const auto real = platform::realPath(path);
  if (!real || platform::exists(named))
    return named;
  const std::string behind = folderOf(*real) + "/" + location;
  return platform::exists(behind) ? behind : named;
}

} // namespace kedge::rt
