// GPU kernels as code of this processor.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace kedge::test {

/// One gpu.func as a function of type KedgeKernel: it takes the arguments' addresses, then the address of the
/// GpuThread (GpuThreads.h) that it is to be.
struct HostKernel {
  std::string name;
  int64_t operands = 0;
  bool meets = false;      ///< has barriers or shuffles
  int64_t sharedBytes = 0; ///< of a block
  /// The function with its constants, for lower::compileKernels, and for who has nothing but the object a
  /// global
  /// `<name>_facts` of three 64-bit integers: operands, meets, sharedBytes.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Throws kedge::Error for an operation that is not simulated. The source stays as it is.
std::vector<HostKernel> kernelsOnHost(mlir::gpu::GPUModuleOp source);

} // namespace kedge::test
