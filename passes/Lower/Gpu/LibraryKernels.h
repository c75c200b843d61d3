// Library calls that have generated kernels.
#pragma once
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

/// Emits the kernels of one call; fails after a diagnostic at it.
using LibraryGenerator = mlir::FailureOr<LaunchCode> (*)(GpuEmitter &, sched::LibraryOp);

/// The generator for a kernel's name ("onnx.Gather"); null when there is none. The table is in
/// passes/Lower/Gpu/library/Table.cpp.
LibraryGenerator libraryGenerator(llvm::StringRef kernel);
/// Names of all kernels that have one, sorted.
llvm::SmallVector<llvm::StringRef> generatedKernels();

} // namespace kedge::lower::gpu
