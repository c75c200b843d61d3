// The dialects of kernels, which stand beside a schedule and in no registry of ours.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kedge::lower {
/// gpu, llvm, nvvm, scf and vector.
void registerKernelDialects(mlir::DialectRegistry &registry);
} // namespace kedge::lower
