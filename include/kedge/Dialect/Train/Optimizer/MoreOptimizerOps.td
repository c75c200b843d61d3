// Updates of the optimizers beside Adam and SGD. Scalars are rank-0 f32 tensors.
#ifndef KEDGE_TRAIN_MORE_OPTIMIZER_OPS
#define KEDGE_TRAIN_MORE_OPTIMIZER_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_LionOp : Train_Op<"lion", [Pointwise, ComputesEachElement]> {
  let summary = "Lion update (Chen et al.)";
  let description = [{
    g = gradient gradient_scale; w -= lr lr_scale sign(b1 m + (1 - b1) g) (+ decay_scale lr_scale w when `decay`; decay_scale
    = lr weight_decay); m = b2 m + (1 - b2) g.
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$moment, ONNX_Tensor:$gradient, ONNX_Tensor:$gradient_scale,
    ONNX_Tensor:$decay_scale, ONNX_Tensor:$lr, ONNX_Tensor:$beta1, ONNX_Tensor:$one_minus_beta1, ONNX_Tensor:$beta2,
    ONNX_Tensor:$one_minus_beta2, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_moment);
}

def Train_RMSpropOp : Train_Op<"rmsprop", [Pointwise, ComputesEachElement]> {
  let summary = "RMSprop update (torch.optim.RMSprop)";
  let description = [{
    g as in train.sgd; v = alpha v + (1 - alpha) g^2; w -= lr lr_scale g / (sqrt(v) + eps). With momentum: buf = momentum buf +
    g / (sqrt(v) + eps); w -= lr lr_scale buf.
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$square, ONNX_Tensor:$gradient, ONNX_Tensor:$gradient_scale,
    ONNX_Tensor:$weight_decay, ONNX_Tensor:$lr, ONNX_Tensor:$alpha, ONNX_Tensor:$one_minus_alpha, ONNX_Tensor:$eps,
    BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_square);
}

def Train_RMSpropMomentumOp : Train_Op<"rmsprop_momentum", [Pointwise, ComputesEachElement]> {
  let summary = "RMSprop update with momentum (torch.optim.RMSprop)";
  let description = [{ As train.rmsprop, with buf = momentum buf + g / (sqrt(v) + eps); w -= lr lr_scale buf. }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$square, ONNX_Tensor:$buffer, ONNX_Tensor:$gradient,
    ONNX_Tensor:$gradient_scale, ONNX_Tensor:$weight_decay, ONNX_Tensor:$lr, ONNX_Tensor:$alpha,
    ONNX_Tensor:$one_minus_alpha, ONNX_Tensor:$eps, ONNX_Tensor:$momentum, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_square, ONNX_Tensor:$new_buffer);
}

def Train_AdagradOp : Train_Op<"adagrad", [Pointwise, ComputesEachElement]> {
  let summary = "Adagrad update (torch.optim.Adagrad)";
  let description = [{ g as in train.sgd; v += g^2; w -= lr lr_scale g / (sqrt(v) + eps). }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$square, ONNX_Tensor:$gradient, ONNX_Tensor:$gradient_scale,
    ONNX_Tensor:$weight_decay, ONNX_Tensor:$lr, ONNX_Tensor:$eps, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_square);
}

def Train_Adam8bitOp : Train_Op<"adam8bit", [Clusterable, UpdatesBlocks]> {
  let summary = "AdamW on moments of 8 bits, block by block (bitsandbytes)";
  let description = [{
    The tensors are [blocks, 256], elements of the flattened parameter in order, with a largest magnitude a block; `moment1`
    is codes of the signed dynamic map, `moment2` of the unsigned one.
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$moment1, ONNX_Tensor:$absmax1, ONNX_Tensor:$moment2,
    ONNX_Tensor:$absmax2, ONNX_Tensor:$gradient, ONNX_Tensor:$gradient_scale, ONNX_Tensor:$decay_scale,
    ONNX_Tensor:$step_size, ONNX_Tensor:$beta1, ONNX_Tensor:$one_minus_beta1, ONNX_Tensor:$beta2,
    ONNX_Tensor:$one_minus_beta2, ONNX_Tensor:$bias_correction2_sqrt, ONNX_Tensor:$eps, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_moment1, ONNX_Tensor:$new_absmax1,
    ONNX_Tensor:$new_moment2, ONNX_Tensor:$new_absmax2);
}
#endif
