// Which convolutions processors compute by Winograd's transforms, and what is saved. Depends on the shape
// alone: plans are made without kernels.
#pragma once
#include "runtime/calls/ConvShape.h"

namespace kedge::rt::calls {

/// Tiles of a panel: a multiple of the columns of every machine's product tile.
constexpr int64_t kWinogradPanel = 32;
/// Tiles of a row, of which the gradient of the filters keeps a panel in the L1.
constexpr int64_t kMostWinogradTiles = 384;

/// Tiles of 2x2 results of Y, or with `back` of dX.
struct WinogradTiles {
  int64_t wide, ofImage, panels;
  WinogradTiles(const ConvShape &c, bool back);
};

/// Whether the transforms compute `c`, or with `back` its gradient of the image, and faster than a product.
bool isWinograd(const ConvShape &c, bool back);
/// The same of the gradient of the filters, beside products with bands or an im2col matrix.
bool isWinogradFilter(const ConvShape &c);

/// 3x3 convolutions of flat images with stride 1, for which isWinograd holds.
CallWork winogradWork(const ConvShape &c, bool back);
/// Of the gradient of the filters.
CallWork winogradFilterWork(const ConvShape &c);

} // namespace kedge::rt::calls
