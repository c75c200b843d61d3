// Bytes that take long to make, by a hash of what they are made from, in a folder that processes share.
#pragma once
#include "lib/Support/ObjectFile.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include <optional>
#include <string>

namespace kedge {

/// Everything that bytes are made from: a hash of its parts, in their order.
class CacheKey {
public:
  CacheKey &add(llvm::StringRef part);
  CacheKey &add(uint64_t number);
  /// 64 hexadecimal digits.
  std::string text() const;

private:
  llvm::BLAKE3 hash;
};

/// A file for each key: FOLDER/ab/cdef.... It is written under another name and renamed, and holds a hash of
/// its bytes, so that readers see all of it or nothing, whatever ends a writer. What cannot be read is a
/// miss, what cannot be written is not kept: nothing throws, and trouble() says why. Not for two threads at
/// once.
class FileCache {
public:
  struct Counts {
    int64_t hits = 0, misses = 0, readBytes = 0, writtenBytes = 0;
  };

  /// `mostBytes`: of all entries; those that were used longest ago go first. 0: no limit.
  FileCache(std::string folder, int64_t mostBytes) : root(std::move(folder)), mostBytes(mostBytes) {}
  /// Keeps the limit.
  ~FileCache();
  FileCache(const FileCache &) = delete;
  FileCache &operator=(const FileCache &) = delete;

  std::optional<ObjectFile> find(const CacheKey &key);
  void store(const CacheKey &key, llvm::StringRef bytes);

  const std::string &folder() const { return root; }
  const Counts &counts() const { return sums; }
  /// Why entries are not kept; empty: they are.
  const std::string &trouble() const { return why; }

private:
  std::string fileOf(const std::string &key) const;
  void noteWritten();
  void evict();

  std::string root;
  int64_t mostBytes;
  Counts sums;
  int64_t toNote = 0; ///< bytes on disk of what was written, which the folder's sum lacks
  std::string why;
};

} // namespace kedge
