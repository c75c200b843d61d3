// Resampling as a linear map along each axis: which source elements an element of the result is made of.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::cpu {

/// For element i: sources[start[i] .. start[i+1]) with weights. `outside`: i takes the extrapolation value.
struct AxisTable {
  std::vector<int64_t> start, sources;
  std::vector<double> weights;
  std::vector<uint8_t> outside;

  int64_t size() const { return static_cast<int64_t>(start.size()) - 1; }
};

/// One table a dimension, from ONNX's Resize attributes. x: the tensor that is read, y: the result.
std::vector<AxisTable> readResize(const LibraryCall &call, const TensorDesc &x, const TensorDesc &y);

/// The table of the transposed map, for a source axis of `size` elements.
AxisTable transpose(const AxisTable &table, int64_t size);

} // namespace kedge::rt::cpu
