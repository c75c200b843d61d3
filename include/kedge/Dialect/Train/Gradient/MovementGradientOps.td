// Gradients of gathers, slices, pads and resizing: from the result's gradient to the gradient of the operand, whose
// shape is `shape`.
#ifndef KEDGE_TRAIN_MOVEMENT_GRADIENT_OPS
#define KEDGE_TRAIN_MOVEMENT_GRADIENT_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_GatherGradOp : Train_Op<"gather_grad"> {
  let summary = "Sums slices of dY at their indices along `axis`; none at `padding_idx`";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$indices, I64Attr:$axis, OptionalAttr<I64Attr>:$padding_idx,
    DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_GatherElementsGradOp : Train_Op<"gather_elements_grad"> {
  let summary = "Sums elements of dY at their indices along `axis`";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$indices, I64Attr:$axis, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_GatherNDGradOp : Train_Op<"gather_nd_grad"> {
  let summary = "Sums slices of dY at index tuples";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$indices, I64Attr:$batch_dims, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_SliceGradOp : Train_Op<"slice_grad"> {
  let summary = "dY at the places that onnx.Slice read, zeros elsewhere";
  let arguments = (ins ONNX_Tensor:$dY, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$ends,
    DenseI64ArrayAttr:$steps, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_PadGradOp : Train_Op<"pad_grad"> {
  let summary = "Sums dY over the places that onnx.Pad copied an element to";
  let arguments = (ins ONNX_Tensor:$dY, Word<Onnx_PadMode>:$mode, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_ResizeGradOp : Train_Op<"resize_grad"> {
  let summary = "dX of onnx.Resize: the transposed resampling";
  let arguments = (ins ONNX_Tensor:$dY, Word<Onnx_ResizeMode>:$mode, Word<Onnx_ResizeCoordinates>:$coordinate_transformation_mode,
    Word<Onnx_ResizeRounding>:$nearest_mode, F32Attr:$cubic_coeff_a, BoolAttr:$exclude_outside, F32Attr:$extrapolation_value,
    BoolAttr:$antialias, OptionalAttr<DenseF32ArrayAttr>:$scales, OptionalAttr<DenseF32ArrayAttr>:$roi,
    DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$dX);
}

def Train_GridSampleGradOp : Train_Op<"grid_sample_grad"> {
  let summary = "Gradients of onnx.GridSample's image and grid";
  let arguments = (ins ONNX_Tensor:$dY, ONNX_Tensor:$X, ONNX_Tensor:$grid, Word<Onnx_GridMode>:$mode, Word<Onnx_GridPadding>:$padding_mode,
    BoolAttr:$align_corners);
  let results = (outs ONNX_Tensor:$dX, ONNX_Tensor:$dGrid);
}
#endif
