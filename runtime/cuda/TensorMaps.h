// Tensor maps of kernels: what Hopper's copy engine reads of a tensor, as the driver encodes it.
#pragma once
#include "runtime/cuda/driver/Gpu.h"
#include "runtime/program/Program.h"

namespace kedge::rt::cuda {

/// All of a program's, in one block of the GPU's memory.
class TensorMaps {
public:
  TensorMaps(Gpu &gpu, const Program &program);

  /// The address of the next one, of the tensor at `argument`.
  CUdeviceptr add(const GpuTensorMap &map, CUdeviceptr argument);
  /// To the GPU, when all have been added.
  void send();

private:
  Gpu &gpu;
  CUdeviceptr block = 0;
  std::vector<CUtensorMap> maps;
};

} // namespace kedge::rt::cuda
