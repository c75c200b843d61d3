// Products in which each row has a matrix of its own out of several: mixtures of experts.
#ifndef KEDGE_TRAIN_GROUPED_OPS
#define KEDGE_TRAIN_GROUPED_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_GroupedMatmulOp : Train_Op<"grouped_matmul", [KernelOrDecomposable, DifferentiableOperands, PrecisionTraits<"Low", "3">]> {
  let summary = "Y[t, s] = X[t] op(W[experts[t, s]])";
  let description = [{
    X [T, K]; `experts` (i64 or i32) [T, S], each in [-E, E), negative ones count from the end; W [E, K, N], with `transB`
    [E, N, K]; Y [T, S, N]. No matrix is copied and no row is computed that nobody asked for: the CPU's kernel sorts the T S
    places by expert (stable) and computes each expert's rows as one product. The bits of a row depend neither on other rows
    nor on the number of threads. Targets without the kernel gather matrices and multiply row by row. With `skips` the index E is
    of no expert: the row is zeros. For predictions of time: `expected` are the places that are likely to have one, `load` the
    share of rows that each expert is likely to have (uniform where it is absent).

    ```mlir
    %y = train.grouped_matmul %x, %experts, %w {transB = true} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8x3x4xf32>) -> tensor<6x2x3xf32>
    ```
  }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$experts, ONNX_Tensor:$W, DefaultValuedAttr<BoolAttr, "false">:$transB,
    DefaultValuedAttr<BoolAttr, "false">:$skips, OptionalAttr<I64Attr>:$expected, OptionalAttr<DenseF64ArrayAttr>:$load);
  let results = (outs ONNX_Tensor:$Y);
  let builders = [OpBuilder<(ins "::mlir::Value":$X, "::mlir::Value":$experts, "::mlir::Value":$W, "bool":$transB), [{
    build($_builder, $_state, X, experts, W, transB, /*skips=*/false, ::mlir::IntegerAttr(), ::mlir::DenseF64ArrayAttr());
  }]>];
}

def Train_GroupedMatmulGradOp : Train_Op<"grouped_matmul_grad", [KernelOrDecomposable]> {
  let summary = "dW of train.grouped_matmul: for each expert the sum over its places of X[t] times dY[t, s]";
  let description = [{
    dW [count, K, N], with `transB` [count, N, K]. Places are added in their order; an expert that has none gets zeros. With
    `skips` places of the index `count` are added nowhere.
  }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$experts, ONNX_Tensor:$dY, I64Attr:$count,
    DefaultValuedAttr<BoolAttr, "false">:$transB, DefaultValuedAttr<BoolAttr, "false">:$skips, OptionalAttr<I64Attr>:$expected,
    OptionalAttr<DenseF64ArrayAttr>:$load);
  let results = (outs ONNX_Tensor:$dW);
}
#endif
