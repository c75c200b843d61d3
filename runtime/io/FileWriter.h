// Writes files, and ensures that they survive a power cut.
#pragma once
#include "runtime/platform/Files.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

/// Buffered writing to a new file, with a checksum. Every
/// failure is an rt::RuntimeError with the path and the reason.
class FileWriter {
public:
  /// `meantFor`: the name for messages if `path` is a temporary file.
  explicit FileWriter(const std::string &path, const std::string &meantFor = "");
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(const void *bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Writes over the file's first bytes, such as a header that counts what follows it. The checksum stays
  /// that of the bytes as they were written first.
  void replaceFirst(std::string_view bytes);
  /// Flushes, fsyncs and closes.
  void finish();

  uint64_t bytesWritten() const { return total; }
  /// The checksum of all bytes, after finish(). checksumOf computes the same for a mapped file.
  std::string checksum() const;
  const std::string &path() const { return name; }

private:
  void flush();
  [[noreturn]] void failWith(int reason) const;

  std::string name, shown;
  int descriptor = -1;
  std::vector<char> buffer;
  uint64_t total = 0, stored = 0; ///< bytes received, bytes passed to the system
  uint64_t hash;
};

/// FNV-1a over little-endian 64-bit words, the tail padded with zeros; 16 hexadecimal digits.
std::string checksumOf(const void *bytes, size_t count);

using platform::folderOf;
/// A file given relative to another file's folder. It is looked for beside `path`. If `path`
/// is a symbolic link and the file is not there, it is looked for beside the link's target.
std::string besideFile(const std::string &path, const std::string &location);

} // namespace kedge::rt
