// 3x3 convolutions of flat images with stride 1 in fp32, and their gradients of the image, with fewer multiplications.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {

/// Whether makeWinograd computes `c`, or with `back` its gradient of the image, and faster than a product.
bool isWinograd(const ConvShape &c, bool back);

/// Y of `c`, or with `back` dX, in fp32. source, weights, bias: positions of the inputs; bias -1: none.
std::unique_ptr<LibraryKernel> makeWinograd(const ConvShape &c, bool back, int source, int weights, int bias, int threads);

} // namespace kedge::rt::cpu
