// Lines along an axis of an index tensor, and the lines of the data that they refer to, for
// GatherElements and ScatterElements. The index tensor may be smaller than the data in every dimension.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::calls {

struct LineMap {
  int64_t count = 1;                   ///< lines of the index tensor
  int64_t dataSize = 0, indexSize = 0; ///< elements of a line
  int64_t dataStride = 1, indexStride = 1;
  Shape sizes, dataStrides, indexStrides; ///< of all dimensions but the axis

  int64_t dataStart(int64_t line) const { return start(line, dataStrides); }
  int64_t indexStart(int64_t line) const { return start(line, indexStrides); }

private:
  int64_t start(int64_t line, const Shape &strides) const {
    int64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0; line /= sizes[d])
      offset += line % sizes[d] * strides[d];
    return offset;
  }
};

/// Reads the attribute axis; its default is 0.
LineMap mapLines(const LibraryCall &call, const TensorDesc &data, const TensorDesc &indices);

} // namespace kedge::rt::calls
