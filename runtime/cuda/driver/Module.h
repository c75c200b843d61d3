// The program's generated kernels, loaded on the GPU.
#pragma once
#include "runtime/cuda/driver/Gpu.h"

namespace kedge::rt::cuda {

class Module {
public:
  /// Loads the machine code if it fits the GPU; otherwise the driver compiles
  /// the PTX. Throws rt::RuntimeError with the driver's log if neither works.
  Module(Gpu &gpu, const Target &target, const ProgramImage &image);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Throws rt::RuntimeError if the module has no such kernel.
  CUfunction kernel(const std::string &name) const;

private:
  bool loadCubin(const Target &target, const ProgramImage &image);
  void loadPtx(const Target &target, const ProgramImage &image);

  Gpu &gpu;
  CUmodule module = nullptr;
  std::string cubinError;
};

} // namespace kedge::rt::cuda
