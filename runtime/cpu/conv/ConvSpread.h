// dX of convolutions with strides and few channels.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// Whether makeSpreadBack computes dX of `c` faster than a product for each class of places does.
bool isSpread(const ConvShape &c);

/// dX of `c` in fp32. results, weights, bias: positions of the inputs; bias -1: none.
std::unique_ptr<LibraryKernel> makeSpreadBack(const ConvShape &c, int results, int weights, int bias,
                                              int threads);

} // namespace kedge::rt::cpu
