// A file that is written completely or not at all.
#pragma once
#include "runtime/io/FileWriter.h"
#include "runtime/io/Unfinished.h"
#include <optional>

namespace kedge::rt {

/// Throws the error that writing would end with, if it is known now: a folder, a pipe or a device of this
/// name, or a folder that takes no files. Leaves nothing.
void checkWritable(const std::string &path);

/// Writes to a temporary file beside `path`; commit() syncs and renames it. Without commit()
/// nothing remains. Follows links, and refuses anything but a regular file: as root, a rename
/// would destroy a device. All errors are rt::RuntimeError with the file and the system's reason.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  FileWriter &writer() { return file; }
  void write(const void *bytes, size_t count) { file.write(bytes, count); }
  void write(std::string_view text) { file.write(text); }
  uint64_t position() const { return file.bytesWritten(); }
  void commit();

private:
  std::string target;
  FileWriter file;
  std::optional<Unfinished> unfinished; ///< until commit()
};

} // namespace kedge::rt
