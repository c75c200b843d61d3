// Products of 16-bit floats with what a GPU's library does to the sums before it writes them (cuBLASLt's epilogues).
#ifndef KEDGE_TRAIN_EPILOGUE_OPS
#define KEDGE_TRAIN_EPILOGUE_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_Float16Tensor : RankedTensorOf<[BF16, F16]>;

def Train_FusedProductOp : Op<Train_Dialect, "fused_product", [Pure, KernelOrDecomposable]> {
  let summary = "op(A) op(B), summed in f32, with an epilogue: GELU, its derivative, or column sums of an operand";
  let description = [{
    | `epilogue` | C | Y | Z |
    |---|---|---|---|
    | `gelu` | a number a column, or absent | GELU(A B + C), the tanh form | A B + C, or absent |
    | `gelu_grad` | X, the GELU's input, as large as Y | (A B) GELU'(X) | the sum of Y's rows, or absent |
    | `sums_a` (`transA`) | | A B | the sum of A's rows |
    | `sums_b` (no `transB`) | | A B | the sum of B's rows |

    All tensors have one type. Shapes are those of onnx.Gemm. Results are rounded to the type once. The product itself is not
    rounded before GELU or its derivative takes it, nor Y before its rows are summed, where the library computes the epilogue;
    where the library has no algorithm for it, the program's own kernels do, from rounded numbers. Made by kedge-fuse-gelu and
    kedge-fuse-sums.
  }];
  let arguments = (ins Train_Float16Tensor:$A, Train_Float16Tensor:$B, Optional<Train_Float16Tensor>:$C, Word<Train_Epilogue>:$epilogue,
    DefaultValuedAttr<BoolAttr, "false">:$transA, DefaultValuedAttr<BoolAttr, "false">:$transB);
  let results = (outs Train_Float16Tensor:$Y, Optional<Train_Float16Tensor>:$Z);
  let assemblyFormat = "$epilogue operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_AccumulateProductOp : Op<Train_Dialect, "accumulate_product", [Pure, KernelOrDecomposable, AddsInPlace]> {
  let summary = "op(A) op(B) in the first micro-step, accumulator + op(A) op(B) in the others";
  let description = [{
    Of matrices. The accumulator is f32 or f64, and of the operands' type or wider. The product is summed in it and rounded to its type
    once; 16-bit gradients, which are rounded before, are no such op. Made by kedge-fuse-accumulation.
  }];
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$B, ONNX_Tensor:$accumulator, Train_Counter:$micro,
    DefaultValuedAttr<BoolAttr, "false">:$transA, DefaultValuedAttr<BoolAttr, "false">:$transB);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_SumProductsOp : Op<Train_Dialect, "sum_products", [Pure]> {
  let summary = "op(A) op(B) of matrices, whose terms are `parts` runs of equal length that are added as a balanced tree, or as a chain";
  let description = [{
    The sum over each run has the bits of a product of its own: what a rank computes that has these rows alone, or a step of a
    recurrent layer. `parts`, 2 or more, divides the terms and is a power of two; a run has at most 512. With `chain`, for any number of
    parts of at most 64, the sum is ((first + second) + third) + ..., with `backwards` from the last part to the first. f32, CPUs alone. Made by
    kedge-join-parts and kedge-join-products.
  }];
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$B, I64Attr:$parts, DefaultValuedAttr<BoolAttr, "false">:$transA,
    DefaultValuedAttr<BoolAttr, "false">:$transB, DefaultValuedAttr<BoolAttr, "false">:$chain,
    DefaultValuedAttr<BoolAttr, "false">:$backwards);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_PackColumnsOp : Op<Train_Dialect, "pack_columns", [Pure]> {
  let summary = "A matrix of f32 as train.packed_product reads it";
  let description = [{
    [k, n], with `transB` [n, k], to [n / 32 rounded up, k, 32]: panels of as many columns as a tile of the machine has, whatever they are.
    CPUs alone. Made by kedge-pack-weights.
  }];
  let arguments = (ins ONNX_Tensor:$B, DefaultValuedAttr<BoolAttr, "false">:$transB);
  let results = (outs ONNX_Tensor:$panels);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_PackedProductOp : Op<Train_Dialect, "packed_product", [Pure]> {
  let summary = "A B + C of matrices of f32, B in the panels of train.pack_columns";
  let description = [{
    C, if there is one, is as large as the result, or one number per column. The bits are onnx.Gemm's. CPUs alone. Made by kedge-pack-weights.
  }];
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$panels, Optional<ONNX_Tensor>:$C);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_AddGatherGradOp : Op<Train_Dialect, "add_gather_grad", [Pure, AddsInPlace, AllTypesMatch<["addend", "result"]>]> {
  let summary = "addend + train.gather_grad(dY, indices); slices that no index names are the addend's";
  let description = [{
    A slice of the gradient is summed and rounded to its type before it is added, as by train.gather_grad and onnx.Add. CPUs alone.
    Made by kedge-fuse-gather-gradients.
  }];
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$indices, ONNX_Tensor:$addend, I64Attr:$axis, OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
#endif
