// Optimizer updates, stochastic rounding, gradient scaling, accumulation.
#ifndef KEDGE_TRAIN_OPTIMIZER_OPS
#define KEDGE_TRAIN_OPTIMIZER_OPS
include "kedge/Dialect/Train/TrainBase.td"

class Train_AdamBase<string mnemonic>
    : Train_Op<mnemonic, [Pointwise, ComputesEachElement, AllShapesMatch<["param", "moment1", "moment2", "gradient"]>]> {
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$moment1, ONNX_Tensor:$moment2, ONNX_Tensor:$gradient,
    Train_Scalar:$gradient_scale, Train_Scalar:$decay_scale, Train_Scalar:$step_size, Train_Scalar:$one_minus_beta1,
    Train_Scalar:$beta2, Train_Scalar:$one_minus_beta2, Train_Scalar:$bias_correction2_sqrt, Train_Scalar:$eps,
    BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_moment1, ONNX_Tensor:$new_moment2);
}

def Train_AdamWOp : Train_AdamBase<"adamw"> {
  let summary = "AdamW update (Loshchilov and Hutter; torch.optim.AdamW)";
  let description = [{
    g = gradient gradient_scale; w *= 1 - decay_scale lr_scale (when `decay`; decay_scale = lr weight_decay);
    m += (1 - b1)(g - m); v = b2 v + (1 - b2) g^2;
    w -= step_size lr_scale m / (sqrt(v) / bias_correction2_sqrt + eps), step_size = lr / (1 - b1^t).
  }];
}

def Train_AdamOp : Train_AdamBase<"adam"> {
  let summary = "Adam update with L2 regularisation (Kingma and Ba; torch.optim.Adam)";
  let description = [{ As train.adamw, but decay_scale = weight_decay and g += weight_decay w instead of the decay of w. }];
}

def Train_SGDOp : Train_Op<"sgd", [Pointwise, ComputesEachElement, AllShapesMatch<["param", "gradient"]>]> {
  let summary = "Stochastic gradient descent (torch.optim.SGD without momentum)";
  let description = [{ g = gradient gradient_scale (+ weight_decay w when `decay`); w -= lr lr_scale g. }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$gradient, Train_Scalar:$gradient_scale,
    Train_Scalar:$weight_decay, Train_Scalar:$lr, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param);
}

def Train_MomentumOp : Train_Op<"momentum", [Pointwise, ComputesEachElement, AllShapesMatch<["param", "buffer", "gradient"]>]> {
  let summary = "Stochastic gradient descent with momentum (torch.optim.SGD)";
  let description = [{
    g as in train.sgd; buf = momentum buf + g (buf starts at zero, so that the first is g);
    w -= lr lr_scale (nesterov: g + momentum buf; else buf).
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$buffer, ONNX_Tensor:$gradient, Train_Scalar:$gradient_scale,
    Train_Scalar:$weight_decay, Train_Scalar:$lr, Train_Scalar:$momentum, BoolAttr:$nesterov, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_buffer);
}

def Train_StochasticRoundOp : Train_Op<"stochastic_round", [Clusterable]> {
  let summary = "f32 to bf16, up or down by chance, so that the mean is exact";
  let description = [{
    With l and u the bf16 neighbours of x, l nearer to zero, the result is u with probability (x - l) / (u - l), else l. What
    bf16 holds exactly, infinities and NaN stay as they are. Random numbers are keyed by (seed, op_id) and counted by (step, element):
    a step that runs again rounds alike.
  }];
  let arguments = (ins ONNX_Tensor:$x, Train_Counter:$seed, Train_Counter:$step, I64Attr:$op_id);
  let results = (outs ONNX_Tensor:$result);
}

def Train_AccumulateOp : Train_Op<"accumulate", [Pointwise, ComputesEachElement, AllShapesMatch<["accumulator", "gradient"]>]> {
  let summary = "The first micro-step overwrites the accumulator, the others add to it";
  let arguments = (ins ONNX_Tensor:$accumulator, ONNX_Tensor:$gradient, Train_Counter:$micro);
  let results = (outs ONNX_Tensor:$result);
}

def Train_AverageOp : Train_Op<"average", [Pointwise, ComputesEachElement, AllShapesMatch<["average", "value"]>]> {
  let summary = "average + (1 - decay)(value - average), the moving average of a parameter";
  let arguments = (ins ONNX_Tensor:$average, ONNX_Tensor:$value, F64Attr:$decay);
  let results = (outs ONNX_Tensor:$result);
}

def Train_ItemScaleOp : Train_Op<"item_scale", [Pointwise]> {
  let summary = "nominal / items, 0 when there are no items";
  let arguments = (ins Train_Scalar:$items, F64Attr:$nominal);
  let results = (outs ONNX_Tensor:$result);
}

def Train_ClipScaleOp : Train_Op<"clip_scale", [Pointwise]> {
  let summary = "scale min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_";
  let arguments = (ins Train_Scalar:$norm, Train_Scalar:$scale, F64Attr:$max_norm);
  let results = (outs ONNX_Tensor:$result);
}
#endif
