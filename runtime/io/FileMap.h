// A whole file, memory-mapped for reading.
#pragma once
#include <cstddef>
#include <string>

namespace kedge::rt {

class FileMap {
public:
  FileMap() = default;
  /// Throws rt::RuntimeError that names `what` (e.g. "data file") and the path if the file cannot be read.
  FileMap(const std::string &path, const std::string &what);
  ~FileMap();
  FileMap(FileMap &&other) noexcept;
  FileMap &operator=(FileMap &&other) noexcept;
  FileMap(const FileMap &) = delete;
  FileMap &operator=(const FileMap &) = delete;

  const char *data() const { return bytes; }
  /// Releases the memory pages of a range that is not needed any more. Reading it again reads the file again.
  void letGo(size_t offset, size_t count) const;
  size_t size() const { return length; }
  const std::string &path() const { return name; }

private:
  std::string name;
  const char *bytes = nullptr;
  size_t length = 0;
};

} // namespace kedge::rt
