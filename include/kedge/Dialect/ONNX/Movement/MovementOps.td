// Shapes, gathers, scatters, slices, resizing.
#ifndef KEDGE_ONNX_MOVEMENT_OPS
#define KEDGE_ONNX_MOVEMENT_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

def ONNX_ReshapeOp : ONNX_Op<"Reshape", [View, Differentiable]> {
  let summary = "The same elements under another shape";
  let description = [{ Also stands for Flatten, Squeeze and Unsqueeze. `shape` has every size: 0 and -1 are resolved. }];
  let arguments = (ins ONNX_Tensor:$data, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$reshaped);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def ONNX_BitCastOp : ONNX_Op<"BitCast", [View]> {
  let summary = "The same bytes as elements of another type of the same width";
  let arguments = (ins ONNX_Tensor:$data, TypeAttr:$to);
  let results = (outs ONNX_Tensor:$result);
}

def ONNX_TransposeOp : ONNX_Op<"Transpose", [SometimesClusterable, Differentiable]> {
  let summary = "Permutes dimensions: result dim i is operand dim perm[i]";
  let description = [{ A library kernel (blocked); its cluster form exists for fusion and interpretation. }];
  let arguments = (ins ONNX_Tensor:$data, DenseI64ArrayAttr:$perm);
  let results = (outs ONNX_Tensor:$transposed);
  let hasFolder = 1;
}

def ONNX_ExpandOp : ONNX_Op<"Expand", [Pointwise, Differentiable]> {
  let summary = "Broadcasts to `shape`";
  let description = [{ `shape` is the shape of the result, already broadcast with the operand's. }];
  let arguments = (ins ONNX_Tensor:$input, DenseI64ArrayAttr:$shape);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_TileOp : ONNX_Op<"Tile", [Clusterable, Differentiable]> {
  let summary = "Repeats the operand `repeats[i]` times along dim i";
  let arguments = (ins ONNX_Tensor:$input, DenseI64ArrayAttr:$repeats);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_ConcatOp : ONNX_Op<"Concat", [Differentiable, WidestPrecision]> {
  let summary = "Joins tensors along `axis`";
  let arguments = (ins Variadic<ONNX_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs ONNX_Tensor:$concat_result);
}

def ONNX_SplitOp : ONNX_Op<"Split", [Differentiable]> {
  let summary = "Parts of sizes `split` along `axis`";
  let arguments = (ins ONNX_Tensor:$input, I64Attr:$axis, DenseI64ArrayAttr:$split);
  let results = (outs Variadic<ONNX_Tensor>:$outputs);
}

def ONNX_SliceOp : ONNX_Op<"Slice", [Clusterable, Differentiable]> {
  let summary = "Every `steps[i]`-th element of dim i from `starts[i]` up to, without, `ends[i]`";
  let description = [{
    One entry per dimension. Starts are inside the dimension; an end of -(size + 1) of a negative step stands
    for the place before the first element.
  }];
  let arguments = (ins ONNX_Tensor:$data, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$ends,
    DenseI64ArrayAttr:$steps);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_PadOp : ONNX_Op<"Pad", [DifferentiableOperands]> {
  let summary = "Adds elements before and after each dimension, or crops where pads are negative";
  let description = [{ `pads` has all begins, then all ends. Without a value operand constants are zero. }];
  let arguments = (ins ONNX_Tensor:$data, Optional<ONNX_Tensor>:$constant_value, Word<Onnx_PadMode>:$mode,
    DenseI64ArrayAttr:$pads);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_GatherOp : ONNX_Op<"Gather", [DifferentiableOperands]> {
  let summary = "Slices of `data` along `axis`, one an index";
  let description = [{ The row `padding_idx` of an embedding gets no gradient. }];
  let arguments = (ins ONNX_Tensor:$data, ONNX_Tensor:$indices, I64Attr:$axis, OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_GatherElementsOp : ONNX_Op<"GatherElements", [DifferentiableOperands]> {
  let summary = "Elements of `data` with their index along `axis` replaced";
  let arguments = (ins ONNX_Tensor:$data, ONNX_Tensor:$indices, I64Attr:$axis);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_GatherNDOp : ONNX_Op<"GatherND", [DifferentiableOperands]> {
  let summary = "Slices of `data` at index tuples";
  let arguments = (ins ONNX_Tensor:$data, ONNX_Tensor:$indices, I64Attr:$batch_dims);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_ScatterElementsOp : ONNX_Op<"ScatterElements", [DifferentiableOperands]> {
  let summary = "`data` with elements replaced or combined at indices along `axis`";
  let arguments = (ins ONNX_Tensor:$data, ONNX_Tensor:$indices, ONNX_Tensor:$updates, I64Attr:$axis,
    StrAttr:$reduction);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_ScatterNDOp : ONNX_Op<"ScatterND", [DifferentiableOperands, WidestPrecision]> {
  let summary = "`data` with slices replaced or combined at index tuples";
  let arguments = (ins ONNX_Tensor:$data, ONNX_Tensor:$indices, ONNX_Tensor:$updates, StrAttr:$reduction);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_RangeOp : ONNX_Op<"Range", [Clusterable]> {
  let summary = "start + i delta for i in [0, size)";
  let arguments = (ins ONNX_Tensor:$start, ONNX_Tensor:$delta, I64Attr:$size);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_TriluOp : ONNX_Op<"Trilu", [Pointwise, Differentiable]> {
  let summary = "Upper or lower triangle from the k-th diagonal on, zeros elsewhere";
  let arguments = (ins ONNX_Tensor:$input, BoolAttr:$upper, I64Attr:$k);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_OneHotOp : ONNX_Op<"OneHot", [Clusterable]> {
  let summary = "`on` where the position along `axis` equals the index, `off` elsewhere";
  let description = [{ Negative indices count from the end; an index out of range is `off` everywhere. }];
  let arguments = (ins ONNX_Tensor:$indices, ONNX_Tensor:$off, ONNX_Tensor:$on, I64Attr:$depth, I64Attr:$axis);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_EyeLikeOp : ONNX_Op<"EyeLike", [Clusterable]> {
  let summary = "Ones on the k-th diagonal";
  let arguments = (ins DenseI64ArrayAttr:$shape, TypeAttr:$dtype, I64Attr:$k);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_ReverseSequenceOp : ONNX_Op<"ReverseSequence", [DifferentiableOperands]> {
  let summary = "The first sequence_lens[b] elements along `time_axis` reversed";
  let arguments = (ins ONNX_Tensor:$input, ONNX_Tensor:$sequence_lens, I64Attr:$batch_axis, I64Attr:$time_axis);
  let results = (outs ONNX_Tensor:$output);
}

def ONNX_ResizeOp : ONNX_Op<"Resize", [Differentiable]> {
  let summary = "Resamples to `sizes`";
  let description = [{
    `sizes`, `scales` and `roi` (begins, then ends) have entries for every dimension; without scales they are the
    quotients of the sizes.
  }];
  let arguments = (ins ONNX_Tensor:$X, DenseI64ArrayAttr:$sizes, Word<Onnx_ResizeMode>:$mode,
    Word<Onnx_ResizeCoordinates>:$coordinate_transformation_mode, Word<Onnx_ResizeRounding>:$nearest_mode, F32Attr:$cubic_coeff_a,
    BoolAttr:$exclude_outside, F32Attr:$extrapolation_value, BoolAttr:$antialias,
    OptionalAttr<DenseF32ArrayAttr>:$scales, OptionalAttr<DenseF32ArrayAttr>:$roi);
  let results = (outs ONNX_Tensor:$Y);
}

def ONNX_GridSampleOp : ONNX_Op<"GridSample", [Differentiable]> {
  let summary = "Samples the operand at the points of a grid";
  let arguments = (ins ONNX_Tensor:$X, ONNX_Tensor:$grid, Word<Onnx_GridMode>:$mode, Word<Onnx_GridPadding>:$padding_mode,
    BoolAttr:$align_corners);
  let results = (outs ONNX_Tensor:$Y);
}
#endif
