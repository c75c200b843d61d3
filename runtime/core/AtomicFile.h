// A file that appears whole or not at all.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

/// Writes to a temporary file beside `path`; commit() syncs and renames it. Without commit() nothing stays.
/// All errors are rt::Error that name the file and the system's reason.
class AtomicFile {
public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *bytes, size_t count);
  uint64_t position() const { return written; }
  void commit();

private:
  void flush();
  [[noreturn]] void failed(const char *action);

  std::string path, temporary;
  int fd = -1;
  uint64_t written = 0;
  std::vector<char> buffer;
};

} // namespace kedge::rt
