// What the ops that only move data come down to, for every target: strided copies from inputs to outputs.
#pragma once
#include "runtime/calls/Call.h"
#include <optional>

namespace kedge::rt::cpu {

/// dst[sum i_d * dst_d] = src[sum i_d * src_d] for all i_d < size_d; strides in elements, of any sign for
/// src.
struct CopyDim {
  int64_t size, src, dst;
};

/// Row-major in dst; dimensions that follow each other in both are one.
std::vector<CopyDim> simplify(std::vector<CopyDim> dims);

/// A copy from call.inputs[input] to call.outputs[output]; offsets in elements.
struct CopyPlan {
  size_t input = 0, output = 0;
  std::vector<CopyDim> dims;
  int64_t from = 0, to = 0;
};

/// Copies of onnx.Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Concat, Split, Slice, after checking the call;
/// nothing for other ops. They write every element of the outputs once.
std::optional<std::vector<CopyPlan>> planCopies(const LibraryCall &call);

/// Along one dimension: element i of the slice is element start + i * step of the whole.
struct SliceRange {
  int64_t start, step, size;
};
/// One a dimension, from Slice's attributes; the shape of `slice` is checked.
std::vector<SliceRange> readRanges(const LibraryCall &call, const TensorDesc &whole, const TensorDesc &slice);

} // namespace kedge::rt::cpu
