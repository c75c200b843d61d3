// Training for integers: values rounded to the grid that a deployed model will have.
#ifndef KEDGE_TRAIN_FAKE_QUANTIZE_OPS
#define KEDGE_TRAIN_FAKE_QUANTIZE_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_MovingRangeOp : Train_Op<"moving_range", [Clusterable, DifferentiableOperands]> {
  let summary = "A range that follows those of batches";
  let description = [{
    new = old + averaging (of the batch - old), for both ends. A range that is [0, 0] has not seen a batch yet: it becomes the
    batch's. No gradient passes. Over ranks, `batch_min` and `batch_max` are those of all of them (kedge-sync-ranges).
  }];
  let arguments = (ins ONNX_Tensor:$batch_min, ONNX_Tensor:$batch_max, ONNX_Tensor:$min, ONNX_Tensor:$max, F32Attr:$averaging);
  let results = (outs ONNX_Tensor:$new_min, ONNX_Tensor:$new_max);
}

def Train_RangeScaleOp : Train_Op<"range_scale", [Clusterable, DifferentiableOperands, PrecisionTraits<"Full", "0">]> {
  let summary = "Scale and zero point with which the integers `low` to `high` cover a range";
  let description = [{
    The range is widened to hold 0. If low = -high, the grid is symmetric: scale = largest magnitude / high, zero = 0. Else
    scale = (max - min) / (high - low), zero = low - round(min / scale). Both results are f32. The range [0, 0] has scale 0. No gradient
    passes.
  }];
  let arguments = (ins ONNX_Tensor:$min, ONNX_Tensor:$max, I64Attr:$low, I64Attr:$high);
  let results = (outs ONNX_Tensor:$scale, ONNX_Tensor:$zero);
}

def Train_FakeQuantizeOp : Train_Op<"fake_quantize", [Pointwise, DifferentiableOperands, PrecisionTraits<"Follow", "1">]> {
  let summary = "x as integers would hold it: (clamp(round(x / scale) + zero, low, high) - zero) * scale";
  let description = [{
    `scale` and `zero` broadcast. Halves are rounded to even. Where the scale is 0, x stays as it is. The gradient goes straight
    through to x where round(x / scale) + zero is within low and high, and is zero elsewhere. With `learning`, the scale has a gradient,
    too (LSQ): `learning` times the sum of the result's gradient times round(x / scale) - x / scale, or times low - zero or high - zero
    where x is outside.
  }];
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$scale, ONNX_Tensor:$zero, I64Attr:$low, I64Attr:$high, OptionalAttr<F32Attr>:$learning);
  let results = (outs ONNX_Tensor:$result);
}

def Train_FakeQuantizeGradOp : Train_Op<"fake_quantize_grad", [Pointwise]> {
  let summary = "Gradient of train.fake_quantize to x";
  let arguments = (ins ONNX_Tensor:$grad, ONNX_Tensor:$x, ONNX_Tensor:$scale, ONNX_Tensor:$zero, I64Attr:$low, I64Attr:$high);
  let results = (outs ONNX_Tensor:$result);
}

def Train_FakeQuantizeScaleGradOp : Train_Op<"fake_quantize_scale_grad", [Pointwise]> {
  let summary = "What each element of train.fake_quantize's x adds to the gradient of its scale";
  let description = [{ Learned step sizes (LSQ), arXiv 1902.08153, with a zero point. Where the scale is 0, nothing. }];
  let arguments = (ins ONNX_Tensor:$grad, ONNX_Tensor:$x, ONNX_Tensor:$scale, ONNX_Tensor:$zero, I64Attr:$low, I64Attr:$high);
  let results = (outs ONNX_Tensor:$result);
}
#endif
