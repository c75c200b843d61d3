// Optimizer state in few bits: companded moments, masters in two parts.
#ifndef KEDGE_TRAIN_COMPACT_OPS
#define KEDGE_TRAIN_COMPACT_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_CompandedOp : Train_Op<"companded", [Clusterable, UpdatesBlocks, AttrSizedOperandSegments]> {
  let summary = "An optimizer's update on moments in companded 8-bit codes, group by group (FlashOptim)";
  let description = [{
    The tensors are [groups, 32], elements of the flattened parameter in order; `states` are a tensor of codes and one of
    fp16 scales, [groups], for each moment in the order of the rule's own op, and `scalars` are that op's behind `gradient`. A scale is
    2^10 times the group's largest magnitude. Signed codes (i8) are round(127 f(m / scale)), f(x) = 2x / (1 + |x|); those without
    a sign (ui8), of mean squares, are round(255 sqrt(v) / scale), where the scale is of sqrt(v).
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$gradient, Variadic<ONNX_Tensor>:$states, Variadic<ONNX_Tensor>:$scalars,
    Word<Train_CompandedRule>:$rule, BoolAttr:$nesterov, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, Variadic<ONNX_Tensor>:$new_states);
}

def Train_Adam4bitOp : Train_Op<"adam4bit", [Clusterable, UpdatesBlocks]> {
  let summary = "AdamW or Adam on moments of 4 bits, block by block (torchao)";
  let description = [{
    `param` and `gradient` are [blocks, 2, 64], elements of the flattened parameter in order; a block's codes are 64 bytes, [blocks, 64], the
    first half of its elements in the high bits. A moment is table[code] times the block's largest magnitude, which is at least 1e-12:
    the signed dynamic map of three decades for `moment1`, (code + 1) / 16 for `moment2`. The new codes come apart, [blocks, 2, 64], for
    train.pack_nibbles. `decoupled`: AdamW, else Adam.
  }];
  let arguments = (ins ONNX_Tensor:$param, ONNX_Tensor:$moment1, ONNX_Tensor:$absmax1, ONNX_Tensor:$moment2,
    ONNX_Tensor:$absmax2, ONNX_Tensor:$gradient, ONNX_Tensor:$gradient_scale, ONNX_Tensor:$decay_scale,
    ONNX_Tensor:$step_size, ONNX_Tensor:$one_minus_beta1, ONNX_Tensor:$beta2, ONNX_Tensor:$one_minus_beta2,
    ONNX_Tensor:$bias_correction2_sqrt, ONNX_Tensor:$eps, BoolAttr:$decoupled, BoolAttr:$decay, F64Attr:$lr_scale);
  let results = (outs ONNX_Tensor:$new_param, ONNX_Tensor:$new_moment1, ONNX_Tensor:$new_absmax1,
    ONNX_Tensor:$new_moment2, ONNX_Tensor:$new_absmax2);
}

def Train_PackNibblesOp : Train_Op<"pack_nibbles", [Clusterable, UpdatesBlocks]> {
  let summary = "Codes of 4 bits, two a byte: [blocks, 2, n] to [blocks, n], the first half in the high bits";
  let description = [{
    `high` and `low` are one value, read in two places.

    ```mlir
    %bytes = train.pack_nibbles %codes, %codes : (tensor<6x2x64xui8>, tensor<6x2x64xui8>) -> tensor<6x64xui8>
    ```
  }];
  let arguments = (ins ONNX_Tensor:$high, ONNX_Tensor:$low);
  let results = (outs ONNX_Tensor:$bytes);
}

def Train_DitherOp : Train_Op<"dither", [Pointwise, ComputesEachElement, AllShapesMatch<["x", "before"]>]> {
  let summary = "f32 to bf16, up or down by chance, whatever part of a tensor the number is in";
  let description = [{
    As train.stochastic_round, but the chance is a hash of the step and of the number that x replaces, `before`. So a mean that
    changes by less than half a bf16 step comes along on average, and ranks round alike whatever part of a tensor they hold.
  }];
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$before, Train_Counter:$step);
  let results = (outs ONNX_Tensor:$result);
}

def Train_SplitOp : Train_Op<"split", [Pointwise, ComputesEachElement]> {
  let summary = "f32 to bf16 and 8 bits of what rounding took (FlashOptim)";
  let description = [{
    `value` is x rounded to bf16, `residual` is r = round(127 clip((x - value) / (ulp(value) / 2), -1, 1)), one nearer to 0
    where train.join of both would round to another bf16 number: so splitting what was joined gives the same parts.
  }];
  let arguments = (ins ONNX_Tensor:$x);
  let results = (outs ONNX_Tensor:$value, ONNX_Tensor:$residual);
}

def Train_JoinOp : Train_Op<"join", [Pointwise, ComputesEachElement, AllShapesMatch<["value", "residual"]>]> {
  let summary = "value + residual / 127 (ulp(value) / 2): the f32 that train.split took apart";
  let arguments = (ins ONNX_Tensor:$value, ONNX_Tensor:$residual);
  let results = (outs ONNX_Tensor:$x);
}
#endif
