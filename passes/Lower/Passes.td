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

def EmitGpuKernels : Pass<"kedge-emit-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "Emit GPU kernels for each distinct cluster and generated library call";
  let description = [{
    Replaces the module's contents by one gpu.module with the kernels that `compile --target cuda` runs: their
    block is a property of the gpu.func, the grid of a launch stands on it as an attribute. Products have none,
    and neither have convolutions that cuDNN takes: the runtime calls libraries for them. With `arch` the kernels are compiled: PTX and,
    where ptxas is installed, registers, shared memory and spills of each kernel go to the standard output.
    Statistics: launches, kernels, workspace bytes.

    Example:
    ```
    kedge-opt step.mlir --kedge-emit-gpu-kernels=arch=sm_90
    ```
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"\"", "Compile for this architecture, like sm_90; \"\": print the IR">,
    Option<"optLevel", "opt-level", "int", "3", "0 to 3, of LLVM and ptxas">,
    Option<"clustersOnly", "clusters-only", "bool", "false", "Leave library calls out">,
    Option<"generatedConvolutions", "generated-convolutions", "bool", "false", "Kernels for every convolution">,
    Option<"statisticsOnly", "statistics-only", "bool", "false", "No PTX, only what ptxas says of each kernel">
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::arith::ArithDialect",
                           "mlir::gpu::GPUDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
}

def GroupLaunches : Pass<"kedge-group-launches", "mlir::ModuleOp"> {
  let summary = "One GPU launch for updates that compute the same on tensors of any size";
  let description = [{
    Needs level 4, before kedge-place-copies, with its gpu.module beside it, where launches of flat clusters carry
    `cuda.flat = {function, elements}`: a function of the module that computes the cluster's body on so many elements.
    Launches of one function that write only states are joined where the last of them stands, as far as nothing between
    touches what they write or writes what they read. Their kernel finds the tensors of a block in a table of element
    counts and offsets in the arena, which stay as planned: results are those of the single launches to the bit, and
    kedge-check-memory holds as before. Flat functions, and kernels that only
    those launches ran, are erased. Statistics: launches grouped, groups.

    Example:
    ```
    kedge-opt exec.mlir --kedge-group-launches --kedge-check-memory
    ```
  }];
  let dependentDialects = ["kedge::KedgeDialect", "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::arith::ArithDialect", "mlir::gpu::GPUDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
}
#endif
