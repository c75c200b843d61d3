// Resampling as a linear map along each axis: which source elements make up an element of the result.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::calls {

/// Element i uses sources[start[i] .. start[i+1]) with weights. `outside`: element i is the extrapolation
/// value.
struct AxisTable {
  std::vector<int64_t> start, sources;
  std::vector<double> weights;
  std::vector<uint8_t> outside;

  int64_t size() const { return static_cast<int64_t>(start.size()) - 1; }
};

/// One table for each dimension, from the attributes of ONNX's Resize. x: the source, y: the result.
std::vector<AxisTable> readResize(const LibraryCall &call, const TensorDesc &x, const TensorDesc &y);

/// The table of the transposed map; `size` is the number of source elements along the axis.
AxisTable transpose(const AxisTable &table, int64_t size);

} // namespace kedge::rt::calls
