// An op that is a loop nest with a scalar body: what the kernel generators compile.
#ifndef KEDGE_CLUSTERABLE_OP_INTERFACE
#define KEDGE_CLUSTERABLE_OP_INTERFACE
include "mlir/IR/OpBase.td"

def ClusterableOpInterface : OpInterface<"ClusterableOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    `describeCluster` gives the iteration domain, which of its dims are reduced, and an affine map from
    the domain to each operand's and result's indices. `buildClusterBody` gives the scalars of the
    results from the scalars of the operands (16-bit floats arrive widened to f32 and are rounded by the
    caller; integers are signless; bool is i1). The default description is elementwise with broadcasting
    over the first result's shape.
  }];
  let methods = [
    InterfaceMethod<"Domain, reduced dims, indexing maps.",
      "void", "describeCluster", (ins "::kedge::ClusterSpec &":$spec), "",
      "::kedge::describeBroadcast($_op.getOperation(), spec);">,
    InterfaceMethod<"Scalars of the results, in order, from the scalars of the operands.",
      "void", "buildClusterBody",
      (ins "::kedge::ClusterBodyBuilder &":$body, "::mlir::ValueRange":$scalars,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
    InterfaceMethod<[{Whether this instance is one: an op may be clusterable only for some attributes or
      types, and is a library call otherwise.}],
      "bool", "isClusterable", (ins), "", "return true;">
  ];
}

/// Each element of the results depends only on the operands' elements at the same place, and not on where that place is:
/// a part of the tensors may be computed on its own.
def ComputesEachElement : NativeOpTrait<"ComputesEachElement"> { let cppNamespace = "::kedge"; }
#endif
