// How an op is computed on some positions of a sequence.
#ifndef KEDGE_POSITION_OP_INTERFACE
#define KEDGE_POSITION_OP_INTERFACE
include "mlir/IR/OpBase.td"

def PositionOpInterface : OpInterface<"PositionOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Along `context` a rank has some positions of each row, and gradients of what all positions read stay sums of its own. Written by hand
    for ops of which ShardingOpInterface says less, since along `tensor` it would not be worth it: attention (its queries are cut, keys
    are whole), lookups (indices are cut), losses over classes (items are cut). All other ops follow the rule that they have along
    `tensor`.
  }];
  let methods = [
    InterfaceMethod<"Loops that positions may run along.", "::kedge::ShardingRule",
      "positionRule", (ins)>,
    InterfaceMethod<[{Builds what a rank computes of the op when the loop `local.cut` is cut. A result that is a sum is the rank's own summand.}],
      "::llvm::SmallVector<::mlir::Value>", "buildOnPositions",
      (ins "::kedge::LocalBuilder &":$local, "::mlir::ValueRange":$operands), "",
      "return ::kedge::cloneOnPositions(local, $_op.getOperation(), operands);">
  ];
}
#endif
