// How an op is cut over the ranks along an axis of the mesh.
#ifndef KEDGE_SHARDING_OP_INTERFACE
#define KEDGE_SHARDING_OP_INTERFACE
include "mlir/IR/OpBase.td"

def ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Written by hand for products, attention, gathers, reshapes, splits, concatenations and losses over classes. The rule of a
    loop nest follows from ClusterableOpInterface. Any other op is computed as a whole on every rank.
  }];
  let methods = [
    InterfaceMethod<"Loops along which so many ranks may cut the op; none: it stays whole.", "::kedge::ShardingRule", "shardingRule",
      (ins "int64_t":$ranks)>,
    InterfaceMethod<[{Builds what a rank computes when the loop `local.cut` is cut, from its blocks of the operands; sums over the axis included.
      Returns the rank's block of each result.}],
      "::llvm::SmallVector<::mlir::Value>", "buildLocal",
      (ins "::kedge::LocalBuilder &":$local, "::mlir::ValueRange":$operands), "",
      "return ::kedge::cloneLocal(local, $_op.getOperation(), operands);">
  ];
}
#endif
