// Losses of the logits and their gradients.
#ifndef KEDGE_TRAIN_LOSS_OPS
#define KEDGE_TRAIN_LOSS_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_CrossEntropyOp : Train_Op<"cross_entropy", [Clusterable, DifferentiableOperands]> {
  let summary = "Softmax cross-entropy of each item";
  let description = [{
    For an item with logits x, class k and smoothing e:
    (1 - e) (lse - x_k) + e (lse - mean x), 0 when k is `ignore_index`; lse = log sum exp x = top + log total
    with top = max x and total = sum exp(x - top). The gradient uses top and total: a single lse would carry a rounding
    error in proportion to its magnitude into all classes of the item. Classes lie along `axis`; `labels` and the results
    have the logits' shape without it. 16-bit logits give f32 results.
  }];
  let arguments = (ins ONNX_Tensor:$logits, ONNX_Tensor:$labels, I64Attr:$axis, I64Attr:$ignore_index,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs ONNX_Tensor:$losses, ONNX_Tensor:$top, ONNX_Tensor:$total);
}

def Train_CrossEntropyGradOp : Train_Op<"cross_entropy_grad", [Clusterable]> {
  let summary = "Gradient of train.cross_entropy with respect to its logits";
  let description = [{ (softmax x - (1 - e) [k] - e / classes) grad, 0 for ignored items. }];
  let arguments = (ins ONNX_Tensor:$logits, ONNX_Tensor:$labels, ONNX_Tensor:$top, ONNX_Tensor:$total,
    ONNX_Tensor:$grad, I64Attr:$axis, I64Attr:$ignore_index, DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs ONNX_Tensor:$result);
}

def Train_BCEWithLogitsOp : Train_Op<"bce_with_logits", [Pointwise, DifferentiableOperands]> {
  let summary = "Binary cross-entropy of each element's logit x and target y";
  let description = [{ max(x, 0) - x y + log(1 + exp(-|x|)). }];
  let arguments = (ins ONNX_Tensor:$logits, ONNX_Tensor:$labels);
  let results = (outs ONNX_Tensor:$losses);
}

def Train_BCEWithLogitsGradOp : Train_Op<"bce_with_logits_grad", [Pointwise]> {
  let summary = "Gradient of train.bce_with_logits with respect to its logits: (sigmoid x - y) grad";
  let arguments = (ins ONNX_Tensor:$logits, ONNX_Tensor:$labels, ONNX_Tensor:$grad);
  let results = (outs ONNX_Tensor:$result);
}
#endif
