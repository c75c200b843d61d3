// Rows that go to the ranks that have their experts, and back.
#ifndef KEDGE_DIST_ROUTING_OPS
#define KEDGE_DIST_ROUTING_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Dist/DistAttrs.td"

/// Each of a rank's places, [T, S] or as many in one dimension, has one of `count` experts, of which each rank has as many, in
/// their order. `counts` [ranks * count] are the places of each expert on each rank. `expected`: places that the busiest rank is likely to
/// have, for predictions of time; as many as each rank's own where it is absent.
class Dist_RoutedOp<string mnemonic, dag more> : Op<Dist_Dialect, mnemonic, [Pure]> {
  let arguments = !con((ins ONNX_Tensor:$rows, ONNX_Tensor:$experts, ONNX_Tensor:$counts, ConfinedAttr<I64Attr, [IntPositive]>:$count,
      ConfinedAttr<I64Attr, [IntPositive]>:$ranks), more, (ins DefaultValuedAttr<StrAttr, "\"expert\"">:$axis,
      OptionalAttr<I64Attr>:$expected));
  let results = (outs ONNX_Tensor:$moved);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Dist_DispatchOp : Dist_RoutedOp<"dispatch", (ins DefaultValuedAttr<I64Attr, "0">:$padding)> {
  let summary = "Rows of places on the ranks that have their experts";
  let description = [{
    `rows` [T, N] or [T S, N]: a token's places share its row, or each place has one. The result [R, N] has the rows of all ranks'
    places whose experts this rank has: by rank, then in the order of places. Rows behind them are `padding`. A step in which a rank
    would receive more than R ends with an error on all ranks.

    ```mlir
    %sent = dist.dispatch %x, %experts, %counts {count = 8 : i64, ranks = 2 : i64} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<16xi64>) -> tensor<24x4xf32>
    ```
  }];
}

def Dist_CombineOp : Dist_RoutedOp<"combine", (ins)> {
  let summary = "The rows that dist.dispatch has brought to other ranks, at their places again";
  let description = [{
    `rows` [R, N], in the order in which they came; the result is [T S, N].
  }];
}
#endif
