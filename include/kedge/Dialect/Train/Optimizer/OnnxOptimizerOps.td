// What a TrainingInfoProto's algorithm is made of: ai.onnx.preview.training, version 1. One op per tensor.
#ifndef KEDGE_TRAIN_ONNX_OPTIMIZER_OPS
#define KEDGE_TRAIN_ONNX_OPTIMIZER_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_GradientOfOp : Train_Op<"gradient_of"> {
  let summary = "Gradient of y, of one element, with respect to each of xs";
  let description = [{ kedge-differentiate writes the backward pass in its place. }];
  let arguments = (ins ONNX_Tensor:$y, Variadic<ONNX_Tensor>:$xs);
  let results = (outs Variadic<ONNX_Tensor>:$gradients);
}

def Train_VariableOp : Train_Op<"variable"> {
  let summary = "A variable as an algorithm finds it after another one has changed it";
  let description = [{ The value itself; gradients end here. kedge-differentiate removes it. }];
  let arguments = (ins ONNX_Tensor:$value);
  let results = (outs ONNX_Tensor:$result);
}

def Train_OnnxAdamRateOp : Train_Op<"onnx_adam_rate", [Pointwise]> {
  let summary = "rate sqrt(1 - beta^t) / (1 - alpha^t), or rate when t = 0; computed in f64";
  let description = [{ rate and count have no dims; the count is an integer. }];
  let arguments = (ins ONNX_Tensor:$rate, ONNX_Tensor:$count, F64Attr:$alpha, F64Attr:$beta);
  let results = (outs ONNX_Tensor:$result);
}

def Train_OnnxAdamOp : Train_Op<"onnx_adam", [Pointwise]> {
  let summary = "ONNX Adam";
  let description = [{
    g = gradient + norm_coefficient x; v = alpha v + (1 - alpha) g; h = beta h + (1 - beta) g^2;
    x = (1 - norm_coefficient_post) (x - rate v / (sqrt(h) + epsilon)), rate by train.onnx_adam_rate.
  }];
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$gradient, ONNX_Tensor:$v, ONNX_Tensor:$h, ONNX_Tensor:$rate,
    F64Attr:$alpha, F64Attr:$beta, F64Attr:$epsilon, F64Attr:$norm_coefficient, F64Attr:$norm_coefficient_post);
  let results = (outs ONNX_Tensor:$new_x, ONNX_Tensor:$new_v, ONNX_Tensor:$new_h);
}

def Train_OnnxAdagradOp : Train_Op<"onnx_adagrad", [Pointwise]> {
  let summary = "ONNX Adagrad";
  let description = [{
    g = gradient + norm_coefficient x; h = h + g^2;
    x = x - rate / (1 + count decay_factor) g / (sqrt(h) + epsilon).
  }];
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$gradient, ONNX_Tensor:$h, ONNX_Tensor:$rate, ONNX_Tensor:$count,
    F64Attr:$decay_factor, F64Attr:$epsilon, F64Attr:$norm_coefficient);
  let results = (outs ONNX_Tensor:$new_x, ONNX_Tensor:$new_h);
}

def Train_OnnxMomentumOp : Train_Op<"onnx_momentum", [Pointwise]> {
  let summary = "ONNX Momentum";
  let description = [{
    g = gradient + norm_coefficient x; v = alpha v + (count > 0 ? beta : 1) g;
    x = x - rate (nesterov: g + alpha v; else v).
  }];
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$gradient, ONNX_Tensor:$v, ONNX_Tensor:$rate, ONNX_Tensor:$count,
    F64Attr:$alpha, F64Attr:$beta, BoolAttr:$nesterov, F64Attr:$norm_coefficient);
  let results = (outs ONNX_Tensor:$new_x, ONNX_Tensor:$new_v);
}
#endif
