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
  }];
}
#endif
