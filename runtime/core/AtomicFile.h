// A file that appears whole or not at all.
#pragma once
#include "runtime/core/FileWriter.h"
#include <memory>

namespace kedge::rt {

/// Writes to a temporary file beside `path`; commit() syncs and renames it. Without commit() nothing stays.
/// All errors are rt::Error that name the file and the system's reason.
class AtomicFile {
public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *bytes, size_t count) { writer->write(bytes, count); }
  uint64_t position() const { return writer->bytesWritten(); }
  void commit();

private:
  std::string path, temporary;
  std::unique_ptr<FileWriter> writer;
  bool committed = false;
};

} // namespace kedge::rt
