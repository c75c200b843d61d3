// 3x3 convolutions of flat images with stride 1 in fp32, and their gradients, with fewer multiplications.
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/calls/WinogradShape.h"

namespace kedge::rt::cpu {
using namespace calls;

/// Y of `c`, or with `back` dX, in fp32. source, weights, bias: positions of the inputs; bias -1: none.
std::unique_ptr<LibraryKernel> makeWinograd(const ConvShape &c, bool back, int source, int weights, int bias,
                                            int threads);

/// dW of `c` in fp32. x, dy: positions of the inputs.
std::unique_ptr<LibraryKernel> makeWinogradFilter(const ConvShape &c, int x, int dy, int threads);

} // namespace kedge::rt::cpu
