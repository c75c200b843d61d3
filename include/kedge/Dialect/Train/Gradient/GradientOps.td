// Gradients of onnx ops that have no form as onnx ops, and composites whose training needs more than ONNX's
// op gives: attention, batch norm in training, rotary embedding, SwiGLU.
#ifndef KEDGE_TRAIN_GRADIENT_OPS
#define KEDGE_TRAIN_GRADIENT_OPS
include "kedge/Dialect/Train/TrainBase.td"

/// Pure op whose result types are given: a gradient has the type of what it is the gradient of.
class Train_TypedOp<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, !listconcat(traits, [Pure])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===--- Convolution, pooling (library kernels) ---------------------------------------------------------===//

defvar ConvGradAttrs = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
  DefaultValuedAttr<I64Attr, "1">:$group);
class Train_ConvGradOp<string mnemonic, string text> : Train_TypedOp<mnemonic> {
  let summary = text;
  let arguments = !con((ins ONNX_Tensor:$first, ONNX_Tensor:$second), ConvGradAttrs);
  let results = (outs ONNX_Tensor:$result);
}
def Train_ConvGradInputOp : Train_ConvGradOp<"conv_grad_input", "dX of onnx.Conv from (dY, W)">;
def Train_ConvGradWeightOp : Train_ConvGradOp<"conv_grad_weight", "dW of onnx.Conv from (X, dY)">;
def Train_ConvTransposeGradInputOp
    : Train_ConvGradOp<"conv_transpose_grad_input", "dX of onnx.ConvTranspose from (dY, W)">;
def Train_ConvTransposeGradWeightOp
    : Train_ConvGradOp<"conv_transpose_grad_weight", "dW of onnx.ConvTranspose from (X, dY)">;

defvar PoolGradAttrs = (ins DenseI64ArrayAttr:$kernel_shape, DenseI64ArrayAttr:$strides,
  DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);
def Train_MaxPoolGradOp : Train_TypedOp<"max_pool_grad"> {
  let summary = "dX of onnx.MaxPool: the first of equal maxima takes the gradient";
  let arguments = !con((ins ONNX_Tensor:$dY, ONNX_Tensor:$X), PoolGradAttrs);
  let results = (outs ONNX_Tensor:$dX);
}
def Train_AveragePoolGradOp : Train_TypedOp<"average_pool_grad"> {
  let summary = "dX of onnx.AveragePool";
  let arguments = !con((ins ONNX_Tensor:$dY), PoolGradAttrs,
    (ins DefaultValuedAttr<BoolAttr, "false">:$count_include_pad));
  let results = (outs ONNX_Tensor:$dX);
}

//===--- Norms ------------------------------------------------------------------------------------------===//

def Train_BatchNormOp : Train_Op<"batch_norm", [Clusterable, DifferentiableOperands, PrecisionTraits<"Follow", "3">]> {
  let summary = "BatchNormalization in training: normalises with the batch's statistics";
  let description = [{
    Running statistics become momentum * old + (1 - momentum) * new; `unbiased` takes n/(n-1) times the
    variance for the running one (PyTorch), otherwise the population variance (ONNX). `mean`, `invstd` are
    kept for the gradient.
  }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, ONNX_Tensor:$B, ONNX_Tensor:$input_mean,
    ONNX_Tensor:$input_var, DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon,
    DefaultValuedAttr<F32Attr, "0.9f">:$momentum, DefaultValuedAttr<BoolAttr, "false">:$unbiased);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$running_mean, ONNX_Tensor:$running_var,
    ONNX_Tensor:$mean, ONNX_Tensor:$invstd);
  let extraClassDeclaration = [{
    ::kedge::NormLayout normLayout();
  }];
}

def Train_SumMicrosOp : Train_TypedOp<"sum_micros", [SameOperandsAndResultType, Differentiable]> {
  let summary = "The sum over the micro-batches of a step, alike in all of them";
  let description = [{
    In @micro, until kedge-unroll-micro-batches writes all micro-batches into one @step. The loss is that of all micro-batches, so
    the gradient of a sum is the sum over micro-batches of its result's gradients.
  }];
  let arguments = (ins ONNX_Tensor:$x);
  let results = (outs ONNX_Tensor:$sum);
}

def Train_InvStdOp : Train_Op<"inverse_deviation", [Pointwise]> {
  let summary = "1 / sqrt(variance + epsilon)";
  let arguments = (ins ONNX_Tensor:$variance, F32Attr:$epsilon);
  let results = (outs ONNX_Tensor:$result);
}

defvar NormLayoutAttrs = (ins DenseI64ArrayAttr:$domain, DenseI64ArrayAttr:$reduced, AffineMapAttr:$data_map,
  AffineMapAttr:$scale_map, AffineMapAttr:$stat_map);

def Train_NormGradOp : Train_TypedOp<"norm_grad", [Clusterable]> {
  let summary = "dX of any norm, from the statistics of its forward pass";
  let description = [{
    `domain`, `reduced` and the maps are the norm's loop nest: `data_map` places X, dY and dX in it,
    `scale_map` the scale, `stat_map` the statistics. RMSNormalization has no mean.
  }];
  let arguments = !con((ins ONNX_Tensor:$dY, ONNX_Tensor:$X, ONNX_Tensor:$Scale, ONNX_Tensor:$invstd,
    Optional<ONNX_Tensor>:$mean), NormLayoutAttrs);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_NormParamGradOp : Train_TypedOp<"norm_param_grad", [Clusterable]> {
  let summary = "dScale and dBias of any norm in one pass";
  let description = [{ As train.norm_grad; with one result, only dScale. }];
  let arguments = !con((ins ONNX_Tensor:$dY, ONNX_Tensor:$X, ONNX_Tensor:$invstd,
    Optional<ONNX_Tensor>:$mean), NormLayoutAttrs);
  let results = (outs ONNX_Tensor:$dScale, Optional<ONNX_Tensor>:$dBias);
}

//===--- Activations ------------------------------------------------------------------------------------===//

def Train_GeluGradOp : Train_Op<"gelu_grad", [Pointwise]> {
  let summary = "dX of onnx.Gelu";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$X, DefaultValuedAttr<Word<Onnx_Approximation>, "::kedge::onnx::Approximation::None">:$approximate);
  let results = (outs ONNX_Tensor:$dX);
}
def Train_GeluGradSumsOp : Train_Op<"gelu_grad_sums", [Clusterable]> {
  let summary = "train.gelu_grad of the tanh form, and the sum of its rows: one number per column";
  let description = [{ The numbers that are summed are the rounded ones, which a GPU's kernel stores as it sums them. }];
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$X);
  let results = (outs ONNX_Tensor:$dX, ONNX_Tensor:$sums);
}
def Train_SwishGradOp : Train_Op<"swish_grad", [Pointwise]> {
  let summary = "dX of onnx.Swish";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$X, DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let results = (outs ONNX_Tensor:$dX);
}
def Train_SwigluOp : Train_Op<"swiglu", [Pointwise, Differentiable]> {
  let summary = "silu(gate) * up";
  let arguments = (ins ONNX_Tensor:$gate, ONNX_Tensor:$up);
  let results = (outs ONNX_Tensor:$Y);
}
def Train_SwigluGradOp : Train_Op<"swiglu_grad", [Pointwise]> {
  let summary = "Gradients of train.swiglu";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$gate, ONNX_Tensor:$up);
  let results = (outs ONNX_Tensor:$dGate, ONNX_Tensor:$dUp);
}

def Train_RotaryOp : Train_Op<"rotary", [Clusterable, DifferentiableOperands, PrecisionTraits<"Widest", "2">]> {
  let summary = "Rotary embedding of the last dim";
  let description = [{
    Element i and element i + D/2 are a pair, or 2i and 2i + 1 when `interleaved`. A pair (a, b) becomes
    (a cos - b sin, b cos + a sin). `cos` and `sin` broadcast to X; their last dim is D, or D/2 when both
    elements of a pair share an angle. `partner` is X again, since each point reads X twice. `inverse` applies the
    transposed rotation, which is the gradient.
  }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$partner, ONNX_Tensor:$cos, ONNX_Tensor:$sin,
    DefaultValuedAttr<BoolAttr, "false">:$interleaved, DefaultValuedAttr<BoolAttr, "false">:$inverse);
  let results = (outs ONNX_Tensor:$Y);
}

//===--- Attention (library kernels) --------------------------------------------------------------------===//

defvar Train_Layout = DefaultValuedAttr<Word<Train_AttentionLayout>, "::kedge::train::AttentionLayout::BHTD">;
/// A dictionary of `left` and `right` in programs, Visible in C++, `sees(causal, left = 511)` in the IR.
def Train_Visible : Attr<CPred<"::kedge::train::Visible::from($_self).has_value()">,
    "the keys that queries see: `left` and `right` (i64) with left + right >= 0"> {
  let storageType = "::mlir::DictionaryAttr";
  let returnType = "::kedge::train::Visible";
  let convertFromStorage = "*::kedge::train::Visible::from($_self)";
  let valueType = NoneType;
}
defvar AttentionAttrs = (ins F64Attr:$scale, OptionalAttr<Train_Visible>:$visible, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
  Train_Layout:$q_layout, Train_Layout:$k_layout, Train_Layout:$v_layout, Train_Layout:$o_layout);
/// Dropout of the probabilities, drawn as train.dropout over [B, Hq, Tq, Tk] draws: (seed, step, row_base) are
/// `random`; sample b is row row_base + b / row_size, elements count within a row.
defvar AttentionDropoutAttrs = (ins DefaultValuedAttr<F32Attr, "0.0f">:$ratio,
  DefaultValuedAttr<I64Attr, "0">:$op_id, DefaultValuedAttr<I64Attr, "1">:$row_size);

def Train_AttentionOp : Train_Op<"attention", [DifferentiableOperands, AttrSizedOperandSegments, PrecisionTraits<"Low", "3">]> {
  let summary = "softmax(softcap(scale Q K^T) + mask) V without a T x T matrix";
  let description = [{
    Operands Q, K, V and optionally mask (bool: true is visible; float: added), each [B, H, T, D] or, by its
    layout, [B, T, H, D]. Query head h uses key head h / (Hq / Hk). LSE [B, Hq, Tq]: log of the sum of exp of the
    scores. With a `ratio` above 0 the probabilities pass a Dropout: in the model that of `training_mode`, in a step the
    one whose seed, step and row are `random`.

    What is hidden by its place costs nothing, neither memory nor time: `visible` bounds the keys before and behind the
    query's own place, and `documents` (i64 [B, T + 1], rising, 0 first, filled up with T) are borders that no query sees
    across. `places` (i64 [C], rising) are the places of the first queries of C equal runs of them; without it query i is at
    place i. A score of `sinks` [Hq] more takes its share of each row's probabilities. docs/library-kernels.md.

    ```mlir
    %o, %lse = train.attention %q, %k, %v sees(causal, left = 511) {scale = 0.125 : f64} : ...
    ```
  }];
  let arguments = !con((ins ONNX_Tensor:$Q, ONNX_Tensor:$K, ONNX_Tensor:$V, Optional<ONNX_Tensor>:$mask,
    Variadic<Train_Counter>:$random, Optional<ONNX_Tensor>:$documents, Optional<ONNX_Tensor>:$places,
    Optional<ONNX_Tensor>:$sinks), AttentionAttrs,
    AttentionDropoutAttrs, (ins DefaultValuedAttr<BoolAttr, "false">:$training_mode));
  let results = (outs ONNX_Tensor:$O, ONNX_Tensor:$LSE);
  let assemblyFormat = [{
    $Q `,` $K `,` $V (`,` $mask^)? (`random` `(` $random^ `)`)? (`documents` `(` $documents^ `)`)?
    (`places` `(` $places^ `)`)? (`sinks` `(` $sinks^ `)`)?
    custom<Sees>($visible) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Train_AttentionGradOp : Train_TypedOp<"attention_grad", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<LibraryCallOpInterface, ["repeatedShare"]>]> {
  let summary = "Gradients of train.attention with respect to Q, K and V";
  let arguments = !con((ins ONNX_Tensor:$dO, ONNX_Tensor:$Q, ONNX_Tensor:$K, ONNX_Tensor:$V, ONNX_Tensor:$O,
    ONNX_Tensor:$LSE, Optional<ONNX_Tensor>:$mask, Variadic<Train_Counter>:$random, Optional<ONNX_Tensor>:$documents,
    Optional<ONNX_Tensor>:$places), AttentionAttrs, AttentionDropoutAttrs);
  let results = (outs ONNX_Tensor:$dQ, ONNX_Tensor:$dK, ONNX_Tensor:$dV);
  let assemblyFormat = [{
    $dO `,` $Q `,` $K `,` $V `,` $O `,` $LSE (`,` $mask^)? (`random` `(` $random^ `)`)? (`documents` `(` $documents^ `)`)?
    (`places` `(` $places^ `)`)? custom<Sees>($visible) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===--- Losses -----------------------------------------------------------------------------------------===//

defvar NllAttrs = (ins OptionalAttr<I64Attr>:$ignore_index, DefaultValuedAttr<BoolAttr, "true">:$softmax);

def Train_NllOp : Train_Op<"nll", [Clusterable]> {
  let summary = "Negative log-likelihood of each item";
  let description = [{
    Classes are dim 1 of `scores`: logits, or log-probabilities without `softmax`. `item_weights` are the
    weights of the items' labels (1 without `weights`), 0 for ignored ones.
  }];
  let arguments = !con((ins ONNX_Tensor:$scores, ONNX_Tensor:$labels, Optional<ONNX_Tensor>:$weights), NllAttrs);
  let results = (outs ONNX_Tensor:$losses, ONNX_Tensor:$item_weights);
}
def Train_NllGradOp : Train_TypedOp<"nll_grad", [Clusterable]> {
  let summary = "dScores of train.nll";
  let description = [{ `dLosses` has one element, or one per item. }];
  let arguments = !con((ins ONNX_Tensor:$dLosses, ONNX_Tensor:$scores, ONNX_Tensor:$labels,
    Optional<ONNX_Tensor>:$weights), NllAttrs);
  let results = (outs ONNX_Tensor:$dScores);
}
#endif
