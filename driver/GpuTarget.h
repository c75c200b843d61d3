// --target cuda: kernels and library calls of a GPU, from level 3 to code.
#pragma once
#include "passes/Lower/Gpu/GpuKernels.h"
#include "mlir/IR/OwningOpRef.h"

namespace kedge::driver {

class GpuTarget {
public:
  /// Kernels go into the gpu.module of `host`, which is made when there is none. `arch`: "sm_90".
  GpuTarget(mlir::ModuleOp host, std::string arch, lower::gpu::Convolutions convolutions);
  /// What kernels are made of, for IR that is parsed.
  static void loadDialects(mlir::MLIRContext &context);

  const std::string &arch() const { return architecture; }
  /// Emits the kernels of every launch and notes them on it: `cuda.kernels` (the launch table's entry),
  /// `kedge.workspace` and `kedge.kernel`. Throws kedge::Error after diagnostics at all launches that the target lacks.
  void emit(mlir::ModuleOp scheduled);
  /// Joins updates of equal form into one launch (kedge-group-launches); once the schedule has its plan.
  void group(mlir::ModuleOp planned);
  /// Machine code of everything emitted; ends the object's use. Throws kedge::Error.
  lower::gpu::GpuCode compile();

private:
  std::string architecture;
  lower::gpu::Convolutions convolutions;
  mlir::gpu::GPUModuleOp module;
  lower::gpu::GpuEmitter emitter;
};

/// "sm_90" of "cuda:sm_90" and of "cuda". Throws kedge::Error on what is no such target, or when this build lacks
/// the runtime for it.
std::string architectureOf(const std::string &target);

/// The PTX after a comment with what ptxas says of each kernel.
std::string ptxText(const lower::gpu::GpuCode &code, const std::string &arch);

} // namespace kedge::driver
