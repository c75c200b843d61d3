// Writing files and making them last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

/// Buffered writes to a new file with a running checksum. Every failure is an rt::Error that names the path
/// and the reason.
class FileWriter {
public:
  /// `meantFor`: the name that messages give, when `path` is a temporary one.
  explicit FileWriter(const std::string &path, const std::string &meantFor = "");
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(const void *bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Flushes, fsyncs and closes.
  void finish();

  uint64_t bytesWritten() const { return total; }
  /// Of all bytes, once finished; checksumOf gives the same for a mapped file.
  std::string checksum() const;
  const std::string &path() const { return name; }

private:
  void flush();
  [[noreturn]] void failWith(int reason) const;

  std::string name, shown;
  int descriptor = -1;
  std::vector<char> buffer;
  uint64_t total = 0, stored = 0; ///< bytes taken, bytes handed to the system
  uint64_t hash;
};

/// FNV-1a over little-endian 64-bit words, the tail padded with zeros; 16 hexadecimal digits.
std::string checksumOf(const void *bytes, size_t count);

/// fsync of a folder, so that a rename in it survives a power cut.
void syncFolder(const std::string &path);
/// The folder that holds `path`; "." when it names none.
std::string folderOf(const std::string &path);
/// A file by its place relative to another's folder: beside `path` as it is named or, when that is a symbolic link and
/// nothing is there, beside the file that it leads to.
std::string besideFile(const std::string &path, const std::string &location);

} // namespace kedge::rt
