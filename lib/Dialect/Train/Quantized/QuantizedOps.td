// Weights in few bits, as values again.
#ifndef KEDGE_TRAIN_FEW_BIT_OPS
#define KEDGE_TRAIN_FEW_BIT_OPS
include "lib/Dialect/Train/TrainBase.td"
include "lib/Dialect/Tune/TuneAttrs.td"

def Train_DequantizeOp : Train_Op<"dequantize", [Clusterable]> {
  let summary = "The values of a weight in 4 bits";
  let description = [{
    A byte holds two codes, the even element in the high nibble. `absmax` has one number per `block` elements of the
    flattened weight, whose type is `whole`. The values are those of bitsandbytes' dequantize_4bit.
  }];
  let arguments = (ins ONNX_Tensor:$codes, ONNX_Tensor:$absmax, Tune_FormatAttr:$format, I64Attr:$block, TypeAttrOf<ONNX_Tensor>:$whole);
  let results = (outs ONNX_Tensor:$result);
}

def Train_ScaleBlocksOp : Train_Op<"scale_blocks", [Clusterable]> {
  let summary = "Multiplies block number i (`block` elements) of a vector by scales[i]";
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$scales, I64Attr:$block);
  let results = (outs ONNX_Tensor:$result);
}
#endif
