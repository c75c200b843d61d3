// Copies between the GPU's arena and files, through page-locked memory.
#pragma once
#include "runtime/cuda/library/LibraryLaunch.h"
#include "runtime/exec/DiskCopies.h"
#include <array>
#include <exception>
#include <mutex>

namespace kedge::rt::cuda {

/// What the copies of all launches share.
class FileCopies {
public:
  /// `staging` are the bytes of two streams that copy; each stream that does gets half of them.
  FileCopies(Gpu &gpu, uint64_t staging) : gpu(gpu), stage(staging / 2) {}

  /// The memory that copies of a stream (Launch::stream) go through, one after the other.
  char *stagingOf(int stream);
  uint64_t stageBytes() const { return stage; }
  const Driver &driver() const { return gpu.driver(); }

  /// Reads or writes a file. Called by the driver's thread: keeps the first error for check(), and does
  /// nothing once there is one.
  void run(const DiskCopy &copy);
  /// Throws it.
  void check();

private:
  Gpu &gpu;
  uint64_t stage;
  std::array<char *, kStreams> staging{};
  std::mutex mutex;
  std::exception_ptr error;
};

/// On a copy's stream, in pieces that fit the staging memory: the file's part by a function of the host, the
/// GPU's by the driver. A graph may hold it.
class FileCopyLaunch final : public LibraryLaunch {
public:
  /// `copy` has no memory yet.
  FileCopyLaunch(FileCopies &files, int number, CUstream stream, CUdeviceptr onDevice, const DiskCopy &copy);
  void enqueue() override;

private:
  struct Piece {
    FileCopies *files;
    DiskCopy copy; ///< whole blocks, in staging memory
    CUdeviceptr onDevice;
    uint64_t bytes;
  };
  static void CUDA_CB run(void *piece);

  CUstream stream;
  std::vector<Piece> pieces;
};

} // namespace kedge::rt::cuda
