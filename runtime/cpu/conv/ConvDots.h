// Gradients of filters of which there are few, or that read few numbers.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// Whether makeDotFilterGradient computes dW of `c`, and faster than products do.
bool isDots(const ConvShape &c);

/// dW of `c` in fp32 or f64. x, dy: positions of the inputs.
std::unique_ptr<LibraryKernel> makeDotFilterGradient(const LibraryCall &call, const ConvShape &c, int x,
                                                     int dy, int threads);

} // namespace kedge::rt::cpu
