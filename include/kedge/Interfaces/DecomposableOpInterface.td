// An op that is written as other ops before it is scheduled.
#ifndef KEDGE_DECOMPOSABLE_OP_INTERFACE
#define KEDGE_DECOMPOSABLE_OP_INTERFACE
include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    `decompose` builds ops that compute the same results. Runs after differentiation, so that a
    composite's own gradient is used; an op without a gradient of its own is differentiated through its
    decomposition.
  }];
  let methods = [
    InterfaceMethod<"Appends one value per result.", "::mlir::LogicalResult", "decompose",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
    InterfaceMethod<[{Whether a target has a kernel that computes the op better than its parts: there
      only the backward pass decomposes it.}],
      "bool", "hasKernelOn", (ins "::kedge::TargetKind":$target), "", "return false;">
  ];
}
#endif
