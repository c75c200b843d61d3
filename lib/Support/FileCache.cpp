#include "lib/Support/FileCache.h"
#include "lib/Support/TemporaryFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kedge {
namespace {

using Hash = llvm::BLAKE3Result<>;

// An entry: this line, the hash of its key, the hash of its bytes, its bytes.
constexpr llvm::StringRef kFirstLine = "kedge cache 1\n";
constexpr size_t kHeader = kFirstLine.size() + 2 * sizeof(Hash);
/// A line for each process that has written entries: the bytes that they take. More than the entries take
/// where one was replaced, or was removed by hand; counted anew with each eviction.
constexpr const char *kSumFile = "written";
constexpr const char *kTemporary = ".tmp";
/// Entries are at least this much younger than their last use: not each use writes to the disk.
constexpr time_t kUseSeconds = 600;
/// No writer takes that long: it was killed.
constexpr time_t kAbandonedSeconds = 3600;
/// Of the limit, after an eviction: the next one is far.
constexpr double kKeptShare = 0.8;

llvm::StringRef textOf(const Hash &hash) {
  return {reinterpret_cast<const char *>(hash.data()), hash.size()};
}

Hash hashOf(llvm::StringRef bytes) {
  llvm::BLAKE3 hash;
  hash.update(bytes);
  return hash.final();
}

/// File systems give whole blocks.
int64_t bytesOnDisk(int64_t bytes) { return static_cast<int64_t>(llvm::alignTo(bytes, 4096)); }

class Descriptor {
public:
  Descriptor(const std::string &path, int flags) : number(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  bool isOpen() const { return number >= 0; }
  int get() const { return number; }
  bool close() { return number < 0 || ::close(std::exchange(number, -1)) == 0; }
  bool writeAll(llvm::StringRef bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return false;
      bytes = bytes.drop_front(count);
    }
    return true;
  }
  /// Read, not mapped: a file that becomes shorter meanwhile would end the process.
  bool readAll(ObjectFile &bytes) const {
    struct stat status;
    if (fstat(number, &status) != 0 || !S_ISREG(status.st_mode))
      return false;
    bytes.resize_for_overwrite(status.st_size);
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t count = ::read(number, bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      at += count;
    }
    if (status.st_mtime + kUseSeconds < time(nullptr))
      futimens(number, nullptr); // what may not be touched is the oldest sooner
    return true;
  }

private:
  int number;
};

/// The whole of what an entry's file is to hold, under its name at once or not at all. 0 or an error number.
int writeWhole(const std::string &file, std::initializer_list<llvm::StringRef> parts) {
  static std::atomic<unsigned> count{0};
  const std::string temporary =
      fmt::format("{}.{}.{}.{}{}", file, getpid(), time(nullptr), count++, kTemporary);
  const TemporaryFile noted(temporary);
  Descriptor out(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!out.isOpen())
    return errno;
  int error = 0;
  for (llvm::StringRef part : parts)
    if (error == 0 && !out.writeAll(part))
      error = errno;
  if (!out.close() && error == 0)
    error = errno;
  if (error == 0 && rename(temporary.c_str(), file.c_str()) != 0)
    error = errno;
  if (error != 0)
    unlink(temporary.c_str());
  return error;
}

struct CacheEntry {
  std::string file;
  time_t used;
  int64_t bytes;
};

/// Of all folders; removes what writers that were killed have left.
std::vector<CacheEntry> cacheEntriesIn(const std::string &root) {
  std::vector<CacheEntry> entries;
  const time_t now = time(nullptr);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    const std::string file = at->path().string();
    struct stat status;
    if (at.depth() != 1 || lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    if (llvm::StringRef(file).ends_with(kTemporary)) {
      if (status.st_mtime + kAbandonedSeconds < now)
        unlink(file.c_str());
      continue;
    }
    entries.push_back({file, status.st_mtime, bytesOnDisk(status.st_size)});
  }
  return entries;
}

} // namespace

CacheKey &CacheKey::add(llvm::StringRef part) {
  add(part.size()); // so that parts do not run together
  hash.update(part);
  return *this;
}

CacheKey &CacheKey::add(uint64_t number) {
  hash.update(llvm::StringRef(reinterpret_cast<const char *>(&number), sizeof number));
  return *this;
}

std::string CacheKey::text() const {
  llvm::BLAKE3 copy = hash;
  return llvm::toHex(copy.final(), /*LowerCase=*/true);
}

std::string FileCache::fileOf(const std::string &key) const {
  return fmt::format("{}/{}/{}", root, key.substr(0, 2), key.substr(2));
}

std::optional<ObjectFile> FileCache::find(const CacheKey &key) {
  const std::string text = key.text();
  const Descriptor file(fileOf(text), O_RDONLY);
  ObjectFile bytes;
  const bool isRead = file.isOpen() && file.readAll(bytes);
  const llvm::StringRef all(bytes.data(), bytes.size());
  if (!isRead || all.size() < kHeader || !all.starts_with(kFirstLine) ||
      all.substr(kFirstLine.size(), sizeof(Hash)) != textOf(hashOf(text)) ||
      all.substr(kFirstLine.size() + sizeof(Hash), sizeof(Hash)) != textOf(hashOf(all.drop_front(kHeader)))) {
    ++sums.misses;
    return std::nullopt;
  }
  bytes.erase(bytes.begin(), bytes.begin() + kHeader);
  ++sums.hits;
  sums.readBytes += static_cast<int64_t>(bytes.size());
  return bytes;
}

void FileCache::store(const CacheKey &key, llvm::StringRef bytes) {
  if (!why.empty()) // with the next entry it would be no better
    return;
  const std::string text = key.text(), file = fileOf(text);
  const int64_t size = bytesOnDisk(static_cast<int64_t>(kHeader + bytes.size()));
  if (mostBytes > 0 && size > mostBytes)
    return;
  const Hash ofKey = hashOf(text), ofBytes = hashOf(bytes);
  const auto write = [&] { return writeWhole(file, {kFirstLine, textOf(ofKey), textOf(ofBytes), bytes}); };
  int error = write();
  if (error == ENOENT) {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failed);
    error = failed ? failed.value() : write();
  }
  if (error != 0) {
    why = fmt::format("{}: cannot be written: {}", root, strerror(error));
    return;
  }
  sums.writtenBytes += static_cast<int64_t>(bytes.size());
  toNote += size;
}

FileCache::~FileCache() {
  if (toNote > 0 && mostBytes > 0)
    noteWritten();
}

/// Lines are appended, each by one call: processes need not wait for each other.
void FileCache::noteWritten() {
  const std::string file = fmt::format("{}/{}", root, kSumFile);
  Descriptor(file, O_WRONLY | O_CREAT | O_APPEND).writeAll(fmt::format("{}\n", toNote));
  auto lines = llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                           /*IsVolatile=*/true);
  if (!lines)
    return;
  int64_t sum = 0;
  llvm::SmallVector<llvm::StringRef> numbers;
  (*lines)->getBuffer().split(numbers, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef number : numbers)
    if (int64_t bytes = 0; !number.getAsInteger(10, bytes) && bytes > 0)
      sum = llvm::SaturatingAdd<uint64_t>(sum, bytes);
  if (sum > mostBytes)
    evict();
}

void FileCache::evict() {
  std::vector<CacheEntry> entries = cacheEntriesIn(root);
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry &a, const CacheEntry &b) { return a.used < b.used; });
  int64_t sum = 0;
  for (const CacheEntry &entry : entries)
    sum += entry.bytes;
  const double kept =
      sum > mostBytes ? static_cast<double>(mostBytes) * kKeptShare : static_cast<double>(sum);
  for (const CacheEntry &entry : entries)
    if (static_cast<double>(sum) > kept && unlink(entry.file.c_str()) == 0)
      sum -= entry.bytes;
  writeWhole(fmt::format("{}/{}", root, kSumFile), {fmt::format("{}\n", sum)});
}

} // namespace kedge
