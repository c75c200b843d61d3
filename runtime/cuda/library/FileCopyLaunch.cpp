#include "runtime/cuda/library/FileCopyLaunch.h"
#include <algorithm>

namespace kedge::rt::cuda {

char *FileCopies::stagingOf(int stream) {
  char *&memory = staging[static_cast<size_t>(stream)];
  if (!memory) {
    // From the driver: pages of the system's, so whole blocks of a file fit.
    memory = gpu.allocatePinned(stage);
    if (reinterpret_cast<uintptr_t>(memory) % StateFile::kBlock != 0) {
      char *wider = gpu.allocatePinned(stage + StateFile::kBlock);
      memory = wider + (StateFile::kBlock - reinterpret_cast<uintptr_t>(wider) % StateFile::kBlock);
    }
  }
  return memory;
}

void FileCopies::run(const DiskCopy &copy) {
  {
    const std::lock_guard lock(mutex);
    if (error)
      return;
  }
  try {
    if (copy.writes)
      copy.file->write(copy.at, copy.memory, copy.bytes);
    else
      copy.file->read(copy.at, copy.memory, copy.bytes);
  } catch (...) {
    const std::lock_guard lock(mutex);
    error = std::current_exception();
  }
}

void FileCopies::check() {
  const std::lock_guard lock(mutex);
  if (error)
    std::rethrow_exception(error);
}

FileCopyLaunch::FileCopyLaunch(FileCopies &files, int number, CUstream stream, CUdeviceptr onDevice,
                               const DiskCopy &copy)
    : stream(stream) {
  char *staging = files.stagingOf(number);
  for (uint64_t done = 0; done < copy.bytes; done += files.stageBytes()) {
    const uint64_t bytes = std::min(files.stageBytes(), copy.bytes - done);
    pieces.push_back({&files,
                      {copy.file, copy.at + done, staging, diskBlocks(bytes), copy.writes},
                      onDevice + done,
                      bytes});
  }
}

void FileCopyLaunch::run(void *piece) {
  const auto *wanted = static_cast<const Piece *>(piece);
  wanted->files->run(wanted->copy);
}

void FileCopyLaunch::enqueue() {
  for (Piece &piece : pieces) {
    const Driver &driver = piece.files->driver();
    if (!piece.copy.writes)
      driver.check(driver.launchHostFunc(stream, &FileCopyLaunch::run, &piece), "a file cannot be read");
    const CUresult result =
        piece.copy.writes ? driver.memcpyDtoHAsync(piece.copy.memory, piece.onDevice, piece.bytes, stream)
                          : driver.memcpyHtoDAsync(piece.onDevice, piece.copy.memory, piece.bytes, stream);
    driver.check(result, "{} bytes cannot be copied {} a file", piece.bytes,
                 piece.copy.writes ? "to" : "from");
    if (piece.copy.writes)
      driver.check(driver.launchHostFunc(stream, &FileCopyLaunch::run, &piece), "a file cannot be written");
  }
}

} // namespace kedge::rt::cuda
