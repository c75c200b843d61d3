// Weights in few bits, as values again.
#ifndef KEDGE_TRAIN_FEW_BIT_OPS
#define KEDGE_TRAIN_FEW_BIT_OPS
include "kedge/Dialect/Train/TrainBase.td"
include "kedge/Dialect/Tune/TuneAttrs.td"

def Train_DequantizeOp : Train_Op<"dequantize", [Clusterable]> {
  let summary = "The values of a weight in 4 bits";
  let description = [{
    A byte holds two codes, the even element in the high nibble. `absmax` has one number per `block` elements of the
    flattened weight, whose type is `whole`. The values are those of bitsandbytes' dequantize_4bit.
  }];
  let arguments = (ins ONNX_Tensor:$codes, ONNX_Tensor:$absmax, Tune_FormatAttr:$format, I64Attr:$block, TypeAttrOf<ONNX_Tensor>:$whole);
  let results = (outs ONNX_Tensor:$result);
}

def Train_UnpackOp : Train_Op<"unpack", [Clusterable]> {
  let summary = "Codes of less than a byte, one a byte";
  let description = [{
    `codes` are packed bytes, the first code of a byte in its lowest `bits`; the result, whose type is `whole`, has each
    in a byte of its own, with its sign where the type is i8.
  }];
  let arguments = (ins ONNX_Tensor:$codes, I64Attr:$bits, TypeAttrOf<ONNX_Tensor>:$whole);
  let results = (outs ONNX_Tensor:$result);
}

def Train_DequantizeBlocksOp : Train_Op<"dequantize_blocks", [Clusterable]> {
  let summary = "The values of a matrix whose codes are a model's own";
  let description = [{
    (code - zero point) * scale, as ONNX's DequantizeLinear has it, of codes packed as `train.unpack` has them. Blocks of
    equal length lie along `axis`; `scales` has a number for each, and `zero_points`, packed rows of `zero_pitch` codes,
    too. Without them the zero point is `zero`.
  }];
  let arguments = (ins ONNX_Tensor:$codes, ONNX_Tensor:$scales, Optional<ONNX_Tensor>:$zero_points, Tune_FormatAttr:$format,
    I64Attr:$axis, I64Attr:$zero, I64Attr:$zero_pitch, TypeAttrOf<ONNX_Tensor>:$whole);
  let results = (outs ONNX_Tensor:$result);
  let extraClassDeclaration = [{
    /// Elements of a block.
    int64_t getBlock();
  }];
}

def Train_ScaleBlocksOp : Train_Op<"scale_blocks", [Clusterable]> {
  let summary = "Multiplies block number i (`block` elements) of a vector by scales[i]";
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$scales, I64Attr:$block);
  let results = (outs ONNX_Tensor:$result);
}
#endif
