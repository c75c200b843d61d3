// Convolutions whose groups have one channel: stencils over planes, bound by memory.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {

/// The convolution or gradient that the call is. `c` is depthwise; bias: an input, -1 for none.
std::unique_ptr<LibraryKernel> makeDepthwise(const LibraryCall &call, const ConvShape &c, const ConvRoles &roles, int bias,
                                             int threads);

} // namespace kedge::rt::cpu
