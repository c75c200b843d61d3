// Maps each place of a padded tensor to a place of the original.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::calls {

struct Padding {
  std::string mode; ///< constant, reflect, edge, wrap
  Shape begins;     ///< one for each dimension; negative values crop
};

/// Reads mode, pads and axes, and checks the shapes.
Padding readPadding(const LibraryCall &call, const TensorDesc &inner, const TensorDesc &padded);

/// For every dimension: the source index of each padded index; -1 where the constant is used.
std::vector<Shape> sourceTables(const LibraryCall &call, const Padding &padding, const Shape &inner,
                                const Shape &padded);

} // namespace kedge::rt::calls
