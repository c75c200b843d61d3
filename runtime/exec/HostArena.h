// The arena of what --offload moved: host memory, and files in place of its first bytes.
#pragma once
#include "runtime/exec/DiskCopies.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Bytes of files that the program needs in this process.
uint64_t diskBytes(const Program &program);
/// Bytes of its host arena that are in memory.
uint64_t hostMemoryBytes(const Program &program);
/// Bytes of memory that copies to and from files go through, of both directions.
uint64_t diskStagingBytes(const Program &program);

class HostArena {
public:
  /// `memory` holds hostMemoryBytes(program). Makes the files; `rank` is part of their names.
  HostArena(const Program &program, char *memory, int rank);

  bool isOnDisk(uint64_t offset) const { return offset < inFiles; }
  /// A place in memory.
  char *at(uint64_t offset) const { return memory + (offset - inFiles); }
  /// A copy between `memory` and the bytes at `offset`, which are in a file.
  DiskCopy copyOf(uint64_t offset, char *memory, uint64_t bytes, bool writes) const;

  /// As Device has them for the other arena.
  const char *read(uint64_t offset, uint64_t bytes);
  char *beginWrite(uint64_t offset, uint64_t bytes);
  void endWrite();
  /// Frees what read and beginWrite have allocated for bytes in files.
  void letGo() { scratch.reset(), scratchBytes = 0; }

private:
  char *scratchOf(uint64_t bytes);

  std::vector<std::unique_ptr<StateFile>> files;
  uint64_t inFiles;
  char *memory;
  BlockMemory scratch; ///< holds the bytes of a state in a file while the host works on them
  uint64_t scratchBytes = 0;
  DiskCopy unwritten;
};

} // namespace kedge::rt
