// The gradient of the filter for dense convolutions of flat images with stride 1 and several taps.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// Whether makeBandedFilterGradient computes `c`, and faster than a product with an im2col matrix.
bool isBanded(const ConvShape &c);

/// dW of `c`. x, dy: positions of the inputs.
std::unique_ptr<LibraryKernel> makeBandedFilterGradient(const LibraryCall &call, const ConvShape &c, int x,
                                                        int dy, int threads);

} // namespace kedge::rt::cpu
