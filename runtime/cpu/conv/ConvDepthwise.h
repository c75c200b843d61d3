// Convolutions whose groups have one channel, computed as stencils over planes. Limited by memory bandwidth.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// The convolution or gradient that the call describes. `c` must be depthwise; bias: position of the input,
/// -1: none.
std::unique_ptr<LibraryKernel> makeDepthwise(const LibraryCall &call, const ConvShape &c,
                                             const ConvRoles &roles, int bias, int threads);

} // namespace kedge::rt::cpu
