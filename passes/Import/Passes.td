// Level 1: composites raised from the primitives that exporters write them as. Each pass leaves what it does
// not know, erases what it made dead, and counts what it raised.
#ifndef KEDGE_IMPORT_PASSES
#define KEDGE_IMPORT_PASSES
include "mlir/Pass/PassBase.td"

class RaisePass<string name, string text> : Pass<name, "mlir::func::FuncOp"> {
  let summary = text;
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def RaiseGelu : RaisePass<"kedge-raise-gelu", "Gelu from erf or tanh"> {
  let description = [{
    0.5 x (1 + erf(x / sqrt 2)) and 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), with factors in any order
    and the polynomial in any form, become `onnx.Gelu`. Statistic: gelus.
  }];
}
def RaiseSilu : RaisePass<"kedge-raise-silu", "SiLU from sigmoid"> {
  let description = [{ x sigmoid(alpha x) becomes `onnx.Swish`. Statistic: silus. }];
}
def RaiseSwiglu : RaisePass<"kedge-raise-swiglu", "SwiGLU from SiLU"> {
  let description = [{
    Runs after raise-silu: silu(gate) * up of one shape becomes `train.swiglu` when nobody else uses the SiLU.
    Statistic: swiglus.
  }];
}
def RaiseLayerNorm : RaisePass<"kedge-raise-layer-norm", "LayerNormalization from mean and deviation"> {
  let description = [{
    (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over trailing dims, with the weight and bias that follow
    when there are any, becomes `onnx.LayerNormalization`. Statistic: layer norms.
  }];
}
def RaiseRMSNorm : RaisePass<"kedge-raise-rms-norm", "RMSNormalization from the mean square"> {
  let description = [{
    x / sqrt(mean(x^2) + epsilon) over trailing dims, with the weight that follows when there is one, becomes
    `onnx.RMSNormalization`. Statistic: rms norms.
  }];
}
def RaiseGroupNorm : RaisePass<"kedge-raise-group-norm", "GroupNormalization from InstanceNormalization"> {
  let description = [{
    InstanceNormalization without affine part of [N, groups, rest], reshaped back to [N, C, ...] and scaled
    and shifted by channel, becomes `onnx.GroupNormalization`. Statistic: group norms.
  }];
}
def RaiseRotary : RaisePass<"kedge-raise-rotary", "Rotary embedding from slices"> {
  let description = [{
    x cos + rotate(x) sin, where rotate(x) joins the negated second half of the last dim to the first half (or
    swaps neighbours and negates one), becomes `train.rotary`. Statistic: rotary embeddings.
  }];
}
def RaiseAttention : RaisePass<"kedge-raise-attention", "Attention from softmax of a product"> {
  let description = [{
    softmax(scale Q K^T + mask) V over [B, H, T, D] becomes `train.Attention`: scales fold into one, a softcap
    is taken along, transposes to and from [B, T, H, D] become layouts, keys and values repeated for groups of
    heads are taken unrepeated, a constant causal mask becomes `causal`, a Dropout of the probabilities becomes
    `ratio` with its `op_id`; the same for attentions that the model has as one op. Statistics: attentions, causal
    masks, dropouts, repeats undone.
  }];
}
def FoldTransposes : RaisePass<"kedge-fold-transposes", "Products of transposed operands"> {
  let description = [{
    A MatMul operand that is the Transpose of its last two dims becomes that operand with `transA` or `transB`:
    exporters write a Linear's weight that way, and its gradients then need no transposes either. Runs after
    attention is raised. Statistic: transposes folded.
  }];
}
#endif
