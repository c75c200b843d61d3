// Dynamic loss scaling for f16 gradients (torch.amp.GradScaler; DeepSpeed's hysteresis and minimum by attributes).
// The scale, its counters and the count of steps that were not skipped are states of rank 0: the host is not involved.
#ifndef KEDGE_TRAIN_LOSS_SCALE_OPS
#define KEDGE_TRAIN_LOSS_SCALE_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_ScaleLossOp : Train_Op<"scale_loss", [Pointwise, DifferentiableOperands]> {
  let summary = "The loss itself; its gradient is multiplied by the scale";
  let arguments = (ins ONNX_Tensor:$loss, ONNX_Tensor:$scale);
  let results = (outs ONNX_Tensor:$result);
}

def Train_InverseScaleOp : Train_Op<"inverse_scale", [Pointwise]> {
  let summary = "1 / scale, divided in f64 and rounded once";
  let arguments = (ins ONNX_Tensor:$scale);
  let results = (outs ONNX_Tensor:$result);
}

def Train_NotFiniteOp : Train_Op<"not_finite", [Pointwise]> {
  let summary = "1 (f32) where x is infinite or not a number, else 0";
  let arguments = (ins ONNX_Tensor:$x);
  let results = (outs ONNX_Tensor:$result);
}

def Train_UpdateScaleOp : Train_Op<"update_scale", [Pointwise]> {
  let summary = "The scale of the next step, its growth counter and its hysteresis";
  let description = [{
    When `found` > 0, the counter becomes 0. If the hysteresis `left` is above 1 it decreases by one; otherwise the scale is
    multiplied by `backoff`, but stays at least `minimum`. When `found` is 0, the counter increases by one. Once it reaches
    `window`, the scale is multiplied by `growth` (unless the product is infinite), the counter becomes 0 and `left`
    becomes `hysteresis`.
  }];
  let arguments = (ins ONNX_Tensor:$scale, ONNX_Tensor:$counter, ONNX_Tensor:$left, ONNX_Tensor:$found,
    F64Attr:$growth, F64Attr:$backoff, I64Attr:$window, I64Attr:$hysteresis, F64Attr:$minimum);
  let results = (outs ONNX_Tensor:$new_scale, ONNX_Tensor:$new_counter, ONNX_Tensor:$new_left);
}

def Train_CountStepOp : Train_Op<"count_step", [Pointwise]> {
  let summary = "steps + 1, or steps when the step is skipped (`found` > 0)";
  let arguments = (ins ONNX_Tensor:$steps, ONNX_Tensor:$found);
  let results = (outs ONNX_Tensor:$result);
}

def Train_AdamCorrectionsOp : Train_Op<"adam_corrections", [Pointwise]> {
  let summary = "Adam's scalars from the number of steps done before this one (i64), in f64, rounded once to f32";
  let description = [{ With t = steps + 1: step_size = lr / (1 - beta1^t), bias_correction2_sqrt = sqrt(1 - beta2^t). }];
  let arguments = (ins ONNX_Tensor:$steps, ONNX_Tensor:$lr, ONNX_Tensor:$beta1, ONNX_Tensor:$beta2);
  let results = (outs ONNX_Tensor:$step_size, ONNX_Tensor:$bias_correction2_sqrt);
}
#endif
