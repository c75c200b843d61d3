// Norms, gelu, silu, losses. Attention and rotary embedding are in Train/GradientOps.td.
#ifndef KEDGE_ONNX_COMPOSITE_OPS
#define KEDGE_ONNX_COMPOSITE_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

//===--- Norms ------------------------------------------------------------------------------------------===//
// Statistics are in f32 (f64 for f64) whatever X's type: two passes, mean before variance. They are results
// so that the gradient need not compute them again.

class ONNX_NormOp<string mnemonic, list<Trait> traits = []>
    : ONNX_Op<mnemonic, !listconcat([Clusterable, DifferentiableOperands], traits)> {
  let extraClassDeclaration = [{
    /// Loop nest, and where data, scale and statistics lie in it.
    ::kedge::NormLayout normLayout();
  }];
}

def ONNX_LayerNormalizationOp : ONNX_NormOp<"LayerNormalization", [FullPrecision]> {
  let summary = "Normalises each row over the dims from `axis` on";
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, Optional<ONNX_Tensor>:$B,
    DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Mean, ONNX_Tensor:$InvStdDev);
}

def ONNX_RMSNormalizationOp : ONNX_NormOp<"RMSNormalization", [FullPrecision]> {
  let summary = "Divides each row by its root mean square over the dims from `axis` on";
  let description = [{ `InvRms` is 1 / sqrt(mean(x^2) + epsilon). }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, DefaultValuedAttr<I64Attr, "-1">:$axis,
    DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$InvRms);
}

def ONNX_GroupNormalizationOp : ONNX_NormOp<"GroupNormalization", [FullPrecision]> {
  let summary = "Normalises each sample over groups of channels";
  let description = [{
    `Scale` and `B` have one element a channel (opset 21) or one per group (opset 18). `Mean`, `InvStdDev` are
    [N, num_groups].
  }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, ONNX_Tensor:$B, I64Attr:$num_groups,
    DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Mean, ONNX_Tensor:$InvStdDev);
}

def ONNX_InstanceNormalizationOp : ONNX_NormOp<"InstanceNormalization", [FullPrecision]> {
  let summary = "Normalises each channel of each sample";
  let description = [{ `Mean`, `InvStdDev` are [N, C]. }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, ONNX_Tensor:$B,
    DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let results = (outs ONNX_Tensor:$Y, ONNX_Tensor:$Mean, ONNX_Tensor:$InvStdDev);
}

def ONNX_BatchNormalizationOp : ONNX_Op<"BatchNormalization", [Clusterable, DifferentiableOperands, PrecisionTraits<"Follow", "1">]> {
  let summary = "Normalises each channel with running statistics";
  let description = [{ Training mode is `train.batch_norm`. }];
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$Scale, ONNX_Tensor:$B, ONNX_Tensor:$input_mean,
    ONNX_Tensor:$input_var, DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let results = (outs ONNX_Tensor:$Y);
}

//===--- Activations ------------------------------------------------------------------------------------===//

def ONNX_GeluOp : ONNX_Op<"Gelu", [Pointwise, Differentiable]> {
  let summary = "x Phi(x); `approximate` none (erf) or tanh";
  let arguments = (ins ONNX_Tensor:$X, DefaultValuedAttr<Word<Onnx_Approximation>, "::kedge::onnx::Approximation::None">:$approximate);
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_SwishOp : ONNX_Op<"Swish", [Pointwise, Differentiable]> {
  let summary = "x sigmoid(alpha x); SiLU when alpha is 1";
  let arguments = (ins ONNX_Tensor:$X, DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let results = (outs ONNX_Tensor:$Y);
}

//===--- Losses -----------------------------------------------------------------------------------------===//

defvar LossAttrs = (ins DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, OptionalAttr<I64Attr>:$ignore_index);

def ONNX_SoftmaxCrossEntropyLossOp
    : ONNX_Op<"SoftmaxCrossEntropyLoss", [Decomposable, DifferentiableOperands, LossPrecision]> {
  let summary = "Negative log-likelihood of the softmax over axis 1";
  let description = [{ `with_log_prob` adds the second result. }];
  let arguments = !con((ins ONNX_Tensor:$scores, ONNX_Tensor:$labels, Optional<ONNX_Tensor>:$weights),
    LossAttrs, (ins DefaultValuedAttr<BoolAttr, "false">:$with_log_prob));
  let results = (outs ONNX_Tensor:$output, Optional<ONNX_Tensor>:$log_prob);
}

def ONNX_NegativeLogLikelihoodLossOp
    : ONNX_Op<"NegativeLogLikelihoodLoss", [Decomposable, DifferentiableOperands, LossPrecision]> {
  let summary = "Negative log-likelihood of log-probabilities over axis 1";
  let arguments = !con((ins ONNX_Tensor:$input, ONNX_Tensor:$target, Optional<ONNX_Tensor>:$weight), LossAttrs);
  let results = (outs ONNX_Tensor:$loss);
}
#endif
