// --target cuda: from kernels to code.
#pragma once
#include "passes/Lower/Gpu/GpuCode.h"

namespace kedge::driver {

struct MachineOptions;

/// "sm_90" of "cuda:sm_90" and of "cuda". Throws kedge::Error on what is no such target, or when this build
/// lacks the runtime for it.
std::string architectureOf(const std::string &target);

/// Whether GPUs of this architecture start a kernel before the one in front of it is done (sm_90 and later).
bool startsDependents(const std::string &arch);

/// Whether the kernels of a program wait for those before them themselves.
bool hasDependentLaunches(const MachineOptions &machine);

/// Machine code of the gpu.module in `kernels`, which is used up. Throws kedge::Error.
lower::gpu::GpuCode compileForGpu(mlir::ModuleOp kernels, const std::string &arch, FileCache *cache);

/// The PTX after a comment with what ptxas says of each kernel.
std::string ptxText(const lower::gpu::GpuCode &code, const std::string &arch);

} // namespace kedge::driver
