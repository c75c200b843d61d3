// Level 4: clusters -> kernels.
#ifndef KEDGE_LOWER_PASSES
#define KEDGE_LOWER_PASSES
include "mlir/Pass/PassBase.td"

def EmitKernels : Pass<"kedge-emit-kernels", "mlir::ModuleOp"> {
  let summary = "Emit a kernel for each distinct cluster";
  let description = [{
    Replaces the module's contents by the kernels of its clusters, in arith, math, scf and vector ops with
    llvm loads and stores: what `compile` translates to machine code. Clusters with the same domain, maps,
    types and body share a kernel. The kernel's iteration space and grain stand on it as attributes.
    Statistics: clusters, kernels.

    Example:
    ```
    kedge-opt step.mlir --kedge-emit-kernels=lower-math=true
    ```
  }];
  let options = [
    Option<"lowerMath", "lower-math", "bool", "false",
           "Expand math ops to polynomials and calls of libm, as for machine code">
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}
#endif
