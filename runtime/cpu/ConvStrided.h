// The gradient of the image of a convolution with strides, and the transposed convolution that is one.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {

/// dX = W^T dY (+ bias) for `c` with a stride above 1. Inputs by their indices; bias -1: none.
std::unique_ptr<LibraryKernel> makeStridedBack(const LibraryCall &call, const ConvShape &c, int results, int weights,
                                               int bias, int threads);

} // namespace kedge::rt::cpu
