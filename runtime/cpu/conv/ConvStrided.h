// The gradient of the image for convolutions with strides, which is also the transposed convolution.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// dX = W^T dY (+ bias) for `c` with a stride above 1. Arguments are positions of inputs; bias -1: none.
std::unique_ptr<LibraryKernel> makeStridedBack(const LibraryCall &call, const ConvShape &c, int results,
                                               int weights, int bias, int threads);

} // namespace kedge::rt::cpu
