#include "runtime/exec/HostArena.h"
#include <algorithm>

namespace kedge::rt {

uint64_t diskBytes(const Program &program) {
  uint64_t bytes = 0;
  for (const DiskPart &part : program.diskParts)
    bytes += part.bytes;
  return bytes;
}

uint64_t hostMemoryBytes(const Program &program) { return program.hostArenaBytes - diskBytes(program); }

uint64_t diskStagingBytes(const Program &program) {
  const uint64_t inFiles = diskBytes(program);
  uint64_t largest = 0;
  for (const State &state : program.states)
    if (state.space == Space::Host && state.offset < inFiles)
      largest = std::max<uint64_t>(largest, state.desc.bytes());
  return diskStagingBytes(largest);
}

HostArena::HostArena(const Program &program, char *memory, int rank)
    : inFiles(diskBytes(program)), memory(memory) {
  for (const DiskPart &part : program.diskParts)
    files.push_back(std::make_unique<StateFile>(part.directory, fmt::format("{}-rank{}", program.name, rank),
                                                part.bytes));
}

DiskCopy HostArena::copyOf(uint64_t offset, char *place, uint64_t bytes, bool writes) const {
  size_t number = 0;
  while (offset >= files[number]->size())
    offset -= files[number++]->size();
  return {files[number].get(), offset, place, bytes, writes};
}

char *HostArena::scratchOf(uint64_t bytes) {
  if (bytes > scratchBytes) {
    letGo();
    scratch = allocateBlocks(bytes);
    scratchBytes = diskBlocks(bytes);
  }
  return scratch.get();
}

const char *HostArena::read(uint64_t offset, uint64_t bytes) {
  if (!isOnDisk(offset))
    return at(offset);
  char *place = scratchOf(bytes);
  const DiskCopy copy = copyOf(offset, place, bytes, /*writes=*/false);
  copy.file->read(copy.at, place, diskBlocks(bytes));
  return place;
}

char *HostArena::beginWrite(uint64_t offset, uint64_t bytes) {
  if (!isOnDisk(offset))
    return at(offset);
  unwritten = copyOf(offset, scratchOf(bytes), bytes, /*writes=*/true);
  return unwritten.memory;
}

void HostArena::endWrite() {
  if (unwritten.file)
    unwritten.file->write(unwritten.at, unwritten.memory, diskBlocks(unwritten.bytes));
  unwritten = {};
}

} // namespace kedge::rt
