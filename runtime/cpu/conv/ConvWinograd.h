// 3x3 convolutions of flat images with stride 1 in fp32, and their gradients, with fewer multiplications.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::rt::cpu {
using namespace calls;

/// The work of a convolution or a gradient with so many channels, filters and places of tiles, of which not
/// all exist.
KernelWork winogradWork(const ConvShape &c, int64_t resultChannels, int64_t computedPlaces);

/// Whether makeWinograd computes `c`, or with `back` its gradient of the image, and faster than a product.
bool isWinograd(const ConvShape &c, bool back);

/// Y of `c`, or with `back` dX, in fp32. source, weights, bias: positions of the inputs; bias -1: none.
std::unique_ptr<LibraryKernel> makeWinograd(const ConvShape &c, bool back, int source, int weights, int bias,
                                            int threads);

/// Whether makeWinogradFilter computes dW of `c`, and faster than products with bands or an im2col matrix.
bool isWinogradFilter(const ConvShape &c);

/// dW of `c` in fp32. x, dy: positions of the inputs.
std::unique_ptr<LibraryKernel> makeWinogradFilter(const ConvShape &c, int x, int dy, int threads);

} // namespace kedge::rt::cpu
