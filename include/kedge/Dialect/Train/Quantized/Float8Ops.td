// Products of 8-bit floats. Each operand has one scale, from the largest magnitude that the tensor has in this step.
#ifndef KEDGE_TRAIN_FLOAT8_OPS
#define KEDGE_TRAIN_FLOAT8_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_Float8Tensor : RankedTensorOf<[F8E4M3FN, F8E5M2]>;
def Train_F32Scalar : Train_Rank0<"isF32()", "tensor<f32>">;

def Train_RowMaximaOp : Train_Op<"row_maxima", [Clusterable]> {
  let summary = "The largest magnitude of each row, along the last dim; NaN if the row has one";
  let arguments = (ins ONNX_Tensor:$x);
  let results = (outs ONNX_Tensor:$maxima);
}

def Train_Float8ScaleOp : Train_Op<"float8_scale", [Clusterable]> {
  let summary = "The scale of a tensor that is cast to 8-bit floats, and 1 / scale";
  let description = [{
    scale = f32(L / max(amax, 1e-12)), divided in f64, where L is the largest number of `to` and amax the largest of
    `maxima`, the largest magnitudes of the tensor's rows. If amax is not finite, products with either result are
    NaN, so that the loss or a gradient shows it.
  }];
  let arguments = (ins ONNX_Tensor:$maxima, TypeAttr:$to);
  let results = (outs ONNX_Tensor:$scale, ONNX_Tensor:$inverse);
}

def Train_Float8CastOp : Train_Op<"float8_cast", [Pointwise]> {
  let summary = "x * scale in f32, clamped to the range of `to`, rounded to it (half to even)";
  let arguments = (ins ONNX_Tensor:$x, Train_F32Scalar:$scale, TypeAttr:$to);
  let results = (outs Train_Float8Tensor:$result);
}

def Train_Float8CastBothOp : Train_Op<"float8_cast_both", [Clusterable]> {
  let summary = "train.float8_cast of a matrix, and its transpose";
  let description = [{ On GPUs one product reads a tensor's rows, another its columns. Made by kedge-pair-float8-casts. }];
  let arguments = (ins ONNX_Tensor:$x, Train_F32Scalar:$scale, TypeAttr:$to);
  let results = (outs Train_Float8Tensor:$result, Train_Float8Tensor:$transposed);
}

def Train_ScaledProductOp : Op<Train_Dialect, "scaled_product", [Pure, KernelOrDecomposable]> {
  let summary = "alpha (inverse_a inverse_b) op(A) op(B) + beta C of 8-bit floats, summed in f32, rounded once to bf16";
  let description = [{
    A result of f32, without C, is not rounded: a part of a sum over ranks.
    Shapes are those of onnx.MatMul, or with C those of onnx.Gemm. GPUs want the summed dim last in both operands (`transB`
    alone): on them, other operands are transposed before the product.
  }];
  let arguments = (ins Train_Float8Tensor:$A, Train_Float8Tensor:$B, Train_F32Scalar:$inverse_a, Train_F32Scalar:$inverse_b,
    Optional<RankedTensorOf<[BF16]>>:$C, DefaultValuedAttr<BoolAttr, "false">:$transA,
    DefaultValuedAttr<BoolAttr, "false">:$transB, DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
    DefaultValuedAttr<F32Attr, "1.0f">:$beta);
  let results = (outs RankedTensorOf<[BF16, F32]>:$Y);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
#endif
