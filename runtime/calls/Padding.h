// Which place of a tensor each place of its padded form stands for.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::cpu {

struct Padding {
  std::string mode; ///< constant, reflect, edge, wrap
  Shape begins;     ///< a dimension; negative ones crop
};

/// Reads mode, pads, axes and checks the shapes.
Padding readPadding(const LibraryCall &call, const TensorDesc &inner, const TensorDesc &padded);

/// For every dimension, the source place of each padded place; -1 for the constant.
std::vector<Shape> sourceTables(const LibraryCall &call, const Padding &padding, const Shape &inner,
                                const Shape &padded);

} // namespace kedge::rt::cpu
