#ifndef KEDGE_SCHED_DIALECT
#define KEDGE_SCHED_DIALECT
include "mlir/IR/OpBase.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::kedge::sched";
  let summary = "What runs as one kernel, and in which order";
  let description = [{
    Level 3: clusters (generated kernels), library calls and views, in execution order. Values are still
    tensors; buffers come later.

    Passes leave notes for later ones. On clusters and library calls: `sched.kernel` is the generated function,
    `sched.iterations` and `sched.grain` the slices that it runs in (also on the function itself), `sched.workspace` bytes
    of scratch memory; on a GPU `sched.kernels` are its launches in order and `sched.flat` is the function and the number of
    elements of a launch that may join others. `sched.grid` is on a GPU's kernel. `sched.host` marks a state that lives in
    host memory, `sched.disk` the directory of the file that holds it there. `sched.recompute` (#sched.recompute, on the module) tells what kedge-choose-recompute chose,
    `sched.prices` what kedge-price-values found for the values of each function. On functions, `sched.sequence` is
    the order of launches that kedge-insert-recompute makes, and `sched.offloadable` the values that may move to host memory.
  }];
  let discardableAttrs = (ins "::mlir::StringAttr":$kernel, "::mlir::IntegerAttr":$iterations, "::mlir::IntegerAttr":$grain,
    "::mlir::IntegerAttr":$workspace, "::mlir::ArrayAttr":$kernels, "::mlir::DictionaryAttr":$flat, "::mlir::StringAttr":$grid,
    "::mlir::UnitAttr":$host, "::mlir::StringAttr":$disk, "::kedge::sched::RecomputeAttr":$recompute, "::mlir::ArrayAttr":$prices, "::mlir::DenseI64ArrayAttr":$sequence,
    "::mlir::DenseI64ArrayAttr":$offloadable);
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}
#endif
