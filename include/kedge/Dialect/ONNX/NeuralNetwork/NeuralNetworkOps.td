// Products, convolutions, pooling, recurrent.
#ifndef KEDGE_ONNX_NEURALNETWORK_OPS
#define KEDGE_ONNX_NEURALNETWORK_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

//===--- Products ---------------------------------------------------------------------------------------===//

def ONNX_MatMulOp : ONNX_Op<"MatMul", [Differentiable, LowPrecision]> {
  let summary = "Matrix product as numpy.matmul";
  let description = [{
    `transA`, `transB` swap the last two dims of an operand of rank >= 2: gradients use them, ONNX files
    do not have them.
  }];
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$B, DefaultValuedAttr<BoolAttr, "false">:$transA,
    DefaultValuedAttr<BoolAttr, "false">:$transB);
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_GemmOp : ONNX_Op<"Gemm", [Differentiable, LowPrecision, AddsInPlace]> {
  let summary = "alpha op(A) op(B) + beta C";
  let description = [{
    Without transA, A (and Y) may have more than one leading dim: they are rows. With `wide`, which ONNX does not have, A and B have
    16 bits, and Y, and C, which is as large, are f32: sums of several products that are rounded once, by a cast behind the last.
  }];
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$B, Optional<ONNX_Tensor>:$C,
    DefaultValuedAttr<BoolAttr, "false">:$transA, DefaultValuedAttr<BoolAttr, "false">:$transB,
    DefaultValuedAttr<F32Attr, "1.0f">:$alpha, DefaultValuedAttr<F32Attr, "1.0f">:$beta, OptionalAttr<BoolAttr>:$wide);
  let results = (outs ONNX_Tensor:$Y);
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c, "bool":$transA, "bool":$transB,
    "::llvm::APFloat":$alpha, "::llvm::APFloat":$beta),
    [{ build($_builder, $_state, a, b, c, transA, transB, alpha, beta, ::mlir::BoolAttr()); }]>];
}

def ONNX_MatMulIntegerOp : ONNX_Op<"MatMulInteger", [AttrSizedOperandSegments]> {
  let summary = "Product of 8-bit integers in i32";
  let arguments = (ins ONNX_Tensor:$A, ONNX_Tensor:$B, Optional<ONNX_Tensor>:$a_zero_point,
    Optional<ONNX_Tensor>:$b_zero_point);
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_QLinearMatMulOp : ONNX_Op<"QLinearMatMul"> {
  let summary = "Product of quantised tensors, quantised again";
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$a_scale, ONNX_Tensor:$a_zero_point, ONNX_Tensor:$b,
    ONNX_Tensor:$b_scale, ONNX_Tensor:$b_zero_point, ONNX_Tensor:$y_scale, ONNX_Tensor:$y_zero_point);
  let results = (outs ONNX_Tensor:$y);
}

//===--- Convolutions -----------------------------------------------------------------------------------===//

/// What all sliding windows have; `pads`: begins, then ends. `auto_pad` is resolved by the importer.
defvar WindowAttrs = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);

def ONNX_ConvOp : ONNX_Op<"Conv", [Differentiable, LowPrecision]> {
  let summary = "Convolution over 1 to 3 spatial dims";
  let arguments = !con((ins ONNX_Tensor:$X, ONNX_Tensor:$W, Optional<ONNX_Tensor>:$B), WindowAttrs,
    (ins DefaultValuedAttr<I64Attr, "1">:$group));
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_ConvTransposeOp : ONNX_Op<"ConvTranspose", [Differentiable, LowPrecision]> {
  let summary = "Transposed convolution over 1 to 3 spatial dims";
  let arguments = !con((ins ONNX_Tensor:$X, ONNX_Tensor:$W, Optional<ONNX_Tensor>:$B), WindowAttrs,
    (ins DenseI64ArrayAttr:$output_padding, DefaultValuedAttr<I64Attr, "1">:$group));
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_ConvIntegerOp : ONNX_Op<"ConvInteger", [AttrSizedOperandSegments]> {
  let summary = "Convolution of 8-bit integers in i32";
  let arguments = !con((ins ONNX_Tensor:$X, ONNX_Tensor:$W, Optional<ONNX_Tensor>:$x_zero_point,
    Optional<ONNX_Tensor>:$w_zero_point), WindowAttrs, (ins DefaultValuedAttr<I64Attr, "1">:$group));
  let results = (outs ONNX_Tensor:$Y);
}

//===--- Pooling ----------------------------------------------------------------------------------------===//

defvar PoolAttrs = !con((ins DenseI64ArrayAttr:$kernel_shape), WindowAttrs,
  (ins DefaultValuedAttr<BoolAttr, "false">:$ceil_mode));

def ONNX_MaxPoolOp : ONNX_Op<"MaxPool", [Differentiable]> {
  let summary = "Maximum over windows";
  let description = [{ `with_indices` adds the second result: flat places of the maxima. }];
  let arguments = !con((ins ONNX_Tensor:$X), PoolAttrs, (ins DefaultValuedAttr<I64Attr, "0">:$storage_order,
    DefaultValuedAttr<BoolAttr, "false">:$with_indices));
  let results = (outs ONNX_Tensor:$Y, Optional<ONNX_Tensor>:$Indices);
}

def ONNX_AveragePoolOp : ONNX_Op<"AveragePool", [Differentiable]> {
  let summary = "Mean over windows";
  let arguments = !con((ins ONNX_Tensor:$X), PoolAttrs,
    (ins DefaultValuedAttr<BoolAttr, "false">:$count_include_pad));
  let results = (outs ONNX_Tensor:$Y);
}

class ONNX_GlobalPoolOp<string mnemonic> : ONNX_Op<mnemonic, [Clusterable, Differentiable]> {
  let arguments = (ins ONNX_Tensor:$X);
  let results = (outs ONNX_Tensor:$Y);
}
def ONNX_GlobalAveragePoolOp : ONNX_GlobalPoolOp<"GlobalAveragePool"> {
  let summary = "Mean over all spatial dims";
}
def ONNX_GlobalMaxPoolOp : ONNX_GlobalPoolOp<"GlobalMaxPool"> {
  let summary = "Maximum over all spatial dims";
}

def ONNX_LRNOp : ONNX_Op<"LRN", [Decomposable]> {
  let summary = "Local response normalisation over `size` neighbouring channels";
  let arguments = (ins ONNX_Tensor:$X, I64Attr:$size, DefaultValuedAttr<F32Attr, "1.0e-4f">:$alpha,
    DefaultValuedAttr<F32Attr, "0.75f">:$beta, DefaultValuedAttr<F32Attr, "1.0f">:$bias);
  let results = (outs ONNX_Tensor:$Y);
}

//===--- Recurrent --------------------------------------------------------------------------------------===//

defvar RecurrentAttrs = (ins I64Attr:$hidden_size, DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
  OptionalAttr<StrArrayAttr>:$activations, OptionalAttr<DenseF32ArrayAttr>:$activation_alpha,
  OptionalAttr<DenseF32ArrayAttr>:$activation_beta, OptionalAttr<F32Attr>:$clip,
  DefaultValuedAttr<I64Attr, "0">:$layout);
defvar RecurrentOperands = (ins ONNX_Tensor:$X, ONNX_Tensor:$W, ONNX_Tensor:$R, Optional<ONNX_Tensor>:$B,
  Optional<ONNX_Tensor>:$sequence_lens, Optional<ONNX_Tensor>:$initial_h);

def ONNX_LSTMOp : ONNX_Op<"LSTM", [AttrSizedOperandSegments, KernelOrDecomposable, LowPrecision]> {
  let summary = "Long short-term memory";
  let arguments = !con(RecurrentOperands, (ins Optional<ONNX_Tensor>:$initial_c, Optional<ONNX_Tensor>:$P),
    RecurrentAttrs, (ins DefaultValuedAttr<I64Attr, "0">:$input_forget));
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Y_h, ONNX_Tensor:$Y_c);
}
def ONNX_GRUOp : ONNX_Op<"GRU", [AttrSizedOperandSegments, KernelOrDecomposable, LowPrecision]> {
  let summary = "Gated recurrent unit";
  let arguments = !con(RecurrentOperands, RecurrentAttrs,
    (ins DefaultValuedAttr<I64Attr, "0">:$linear_before_reset));
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Y_h);
}
def ONNX_RNNOp : ONNX_Op<"RNN", [AttrSizedOperandSegments, KernelOrDecomposable, LowPrecision]> {
  let summary = "Plain recurrent unit";
  let arguments = !con(RecurrentOperands, RecurrentAttrs);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Y_h);
}
#endif
