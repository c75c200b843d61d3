// Ops that only move data, expressed as strided copies from inputs to outputs; used by every target.
#pragma once
#include "runtime/calls/Call.h"
#include <optional>

namespace kedge::rt::calls {

/// dst[sum i_d * dst_d] = src[sum i_d * src_d] for all i_d <
/// size_d. Strides are in elements; those of src may be negative.
struct CopyDim {
  int64_t size, src, dst;
};

/// Sorts the dimensions so that dst is row-major, and merges neighbours that are contiguous in both src and
/// dst.
std::vector<CopyDim> simplify(std::vector<CopyDim> dims);

/// A copy from call.inputs[input] to call.outputs[output]; offsets in elements.
struct CopyPlan {
  size_t input = 0, output = 0;
  std::vector<CopyDim> dims;
  int64_t from = 0, to = 0;
};

/// Checks a call of onnx.Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Concat, Split or Slice
/// and returns its copies, which write every output element once. Returns nothing for other ops.
std::optional<std::vector<CopyPlan>> planCopies(const LibraryCall &call);

/// Along one dimension, element i of the slice is element start + i * step of the whole.
struct SliceRange {
  int64_t start, step, size;
};
/// One range for each dimension, from Slice's attributes. Checks the shape of `slice`.
std::vector<SliceRange> readRanges(const LibraryCall &call, const TensorDesc &whole, const TensorDesc &slice);

} // namespace kedge::rt::calls
