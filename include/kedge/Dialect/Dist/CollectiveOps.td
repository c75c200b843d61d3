// What ranks exchange, as pure values. Operand i and result i belong together: one collective carries several tensors.
// The ranks along `axis` take part, `ranks` of them: along one axis of the mesh, or along several ("replica,data").
#ifndef KEDGE_DIST_COLLECTIVE_OPS
#define KEDGE_DIST_COLLECTIVE_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Dist/DistAttrs.td"

class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, !listconcat(traits, [Pure])> {
  dag tensors = (ins Variadic<ONNX_Tensor>:$inputs, ConfinedAttr<I64Attr, [IntPositive]>:$ranks,
                     DefaultValuedAttr<StrAttr, "\"data\"">:$axis);
  let results = (outs Variadic<ONNX_Tensor>:$outputs);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  /// The ranks that take part, by their places along the axis: `root` and `from` are such places.
  let extraClassDeclaration = [{ ::kedge::dist::RankGroup group() { return {getAxisAttr(), static_cast<int64_t>(getRanks())}; } }];
}

/// Builds from whole tensors to their shards.
class Dist_ToShards<string mnemonic, dag more = (ins)> : Dist_Op<mnemonic> {
  let arguments = !con(tensors, more);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::kedge::dist::RankGroup":$group)>];
  let hasCanonicalizer = 1;
}

def Dist_ReduceScatterOp : Dist_ToShards<"reduce_scatter", (ins OptionalAttr<Word<Dist_SumOrder>>:$order)> {
  let summary = "Each rank's part of the sum over ranks";
  let description = [{
    Sums in the order of ranks, in f32 (f64 of f64), and rounds once to the tensor's type. The result is a shard. With `order`
    "tree" neighbours are summed first, then these sums, and so on.

    ```mlir
    %part = dist.reduce_scatter %g {ranks = 4 : i64} : (tensor<48x144xf32>) -> tensor<1728xf32>
    ```
  }];
}

def Dist_AllGatherOp : Dist_Op<"all_gather"> {
  let summary = "The whole tensors out of all ranks' shards";
  let arguments = tensors;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$wholes, "::mlir::ValueRange":$inputs, "::kedge::dist::RankGroup":$group)>];
  let hasCanonicalizer = 1;
}

def Dist_LocalShardOp : Dist_ToShards<"local_shard"> {
  let summary = "The rank's own part of tensors that are alike on all ranks; nothing is sent";
}

def Dist_AllReduceOp : Dist_Op<"all_reduce", [Differentiable]> {
  let summary = "The sum or the maximum over ranks, alike on all of them";
  let description = [{
    `kind` is "sum", in the order of ranks or, with `order` "tree", as dist.reduce_scatter, or "max", which propagates NaN. For scalars and other small tensors: a large
    sum is a dist.reduce_scatter and a dist.all_gather. The loss is that of all ranks, so the gradient of a sum is the sum
    over ranks of its result's gradients.
  }];
  let arguments = !con(tensors, (ins Word<Dist_ReduceKind>:$kind, OptionalAttr<Word<Dist_SumOrder>>:$order));
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::kedge::dist::RankGroup":$group, "::kedge::dist::ReduceKind":$kind)>];
}

def Dist_BroadcastOp : Dist_Op<"broadcast", [Differentiable]> {
  let summary = "Tensors as rank `root` has them";
  let description = [{ The gradient on rank `root` is the sum over ranks, on others it is zero. }];
  let arguments = !con(tensors, (ins I64Attr:$root));
}

def Dist_SendRecvOp : Dist_Op<"send_recv", [Differentiable]> {
  let summary = "Each rank's tensors sent to other ranks, and another's received";
  let description = [{
    Rank r receives the tensors of rank `from[r]`; -1: it receives zeros. A rank may send to several, or to none. All ranks
    run one program, so a send and its receive are one op: there is no send that nobody receives.

    ```mlir
    %left = dist.send_recv %x {from = array<i64: -1, 0, 1>, ranks = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    ```

    Where no rank sends to two, the gradient goes back the way the tensors came.
  }];
  let arguments = !con(tensors, (ins DenseI64ArrayAttr:$from));
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::kedge::dist::RankGroup":$group, "::llvm::ArrayRef<int64_t>":$from)>];
}

/// Between two ranks along the axis. A token joins the transfers of a function: each takes the one of the transfer before.
class Dist_Transfer<string mnemonic, dag more, dag made> : Op<Dist_Dialect, mnemonic, [Pure]> {
  let arguments = !con(more, (ins ONNX_Tensor:$token, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$number, ConfinedAttr<I64Attr, [IntPositive]>:$ranks, DefaultValuedAttr<StrAttr, "\"pipeline\"">:$axis));
  let results = made;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Dist_SendOp : Dist_Transfer<"send", (ins ONNX_Tensor:$value), (outs ONNX_Tensor:$next)> {
  let summary = "A tensor sent to another rank along the axis, whose own program receives it";
  let description = [{
    `number` is the transfer's among all of the function, and is that of the dist.receive. The tokens keep transfers in their order.

    ```mlir
    %1 = dist.send %x, %0 {number = 3 : i64, peer = 1 : i64, ranks = 2 : i64} : (tensor<8xf32>, tensor<i64>) -> tensor<i64>
    ```
  }];
}

def Dist_ReceiveOp : Dist_Transfer<"receive", (ins), (outs ONNX_Tensor:$value, ONNX_Tensor:$next)> {
  let summary = "A tensor that another rank along the axis sends";
}
#endif
