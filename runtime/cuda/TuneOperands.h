// Operands of a product that is timed. Random numbers, because products of zeros draw less power and run
// faster.
#pragma once
#include "runtime/cuda/library/LibraryLaunch.h"

namespace kedge::rt::cuda {
using namespace calls;

class TuneOperands {
public:
  TuneOperands(Gpu &gpu, const LibraryCall &call, uint64_t workspaceBytes);
  ~TuneOperands();
  TuneOperands(const TuneOperands &) = delete;
  TuneOperands &operator=(const TuneOperands &) = delete;
  const LaunchPointers &pointers() const { return made; }
  /// More memory, as long as the operands live.
  CUdeviceptr allocate(uint64_t bytes, const char *what);

private:
  void fill(CUdeviceptr memory, const TensorDesc &tensor);

  Gpu &gpu;
  LaunchPointers made;
  std::vector<CUdeviceptr> memory;
};

} // namespace kedge::rt::cuda
