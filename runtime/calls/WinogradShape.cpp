#include "runtime/calls/WinogradShape.h"

namespace kedge::rt::calls {
namespace {

int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// The work with so many channels of the result and places of tiles, of which not all exist.
CallWork workOfTiles(const ConvShape &c, int64_t resultChannels, int64_t computedPlaces) {
  // Transforming 16 tiles of a channel takes as long as multiplying them with so many filters, and the
  // results of a filter as long as its products with so many channels. Measured:
  // docs/rationale/cpu-convolutions.md.
  constexpr double kChannel = 16, kFilter = 8, kSaved = 36.0 / 16;
  const double transforms =
      kChannel / static_cast<double>(c.filters) + kFilter / static_cast<double>(c.channels);
  CallWork work = c.work(resultChannels);
  work.shortcut = kSaved / (1 + transforms) * static_cast<double>(c.batch * c.outSize()) /
                  static_cast<double>(computedPlaces);
  return work;
}

} // namespace

WinogradTiles::WinogradTiles(const ConvShape &c, bool back) {
  const Space &result = back ? c.in : c.out;
  wide = blocksOf(result[2], 2);
  ofImage = blocksOf(result[1], 2) * wide;
  panels = blocksOf(c.batch * ofImage, kWinogradPanel);
}

bool isWinograd(const ConvShape &c, bool back) {
  constexpr int64_t kFewest = 16; // channels: with fewer, transforms are most of the work
  const bool isFlat = c.in[0] == 1 && c.out[0] == 1 && c.pad[0] == 0 && c.kernel == Space{1, 3, 3};
  const bool isDense = c.groups == 1 && c.stride == Space{1, 1, 1} && c.dilation == Space{1, 1, 1};
  const bool isPadded = c.pad[1] >= 0 && c.pad[1] <= 2 && c.pad[2] >= 0 && c.pad[2] <= 2;
  if (!isFlat || !isDense || !isPadded || c.channels < kFewest || c.filters < kFewest ||
      c.batch * c.outSize() * c.inSize() == 0)
    return false;
  const int64_t panels = WinogradTiles(c, back).panels;
  const Space &result = back ? c.in : c.out;
  // For few tiles filters are most of the work, whose transforms are 16/9 as large. Of the computed places
  // most should exist.
  constexpr int64_t kFewestPanels = 4;
  return panels >= kFewestPanels && static_cast<double>(c.batch * result[1] * result[2]) >=
                                        0.6 * static_cast<double>(4 * kWinogradPanel * panels);
}

bool isWinogradFilter(const ConvShape &c) {
  constexpr int64_t kFewestPairs =
      2048; // of channels and filters: with fewer, transforms take what products save
  return isWinograd(c, false) && c.channels >= 24 && c.channels * c.filters >= kFewestPairs &&
         (c.out[2] + 1) / 2 <= kMostWinogradTiles;
}

CallWork winogradWork(const ConvShape &c, bool back) {
  return workOfTiles(c, back ? c.channels : c.filters, 4 * kWinogradPanel * WinogradTiles(c, back).panels);
}

CallWork winogradFilterWork(const ConvShape &c) {
  return workOfTiles(c, c.filters, 4 * c.batch * WinogradTiles(c, false).ofImage);
}

} // namespace kedge::rt::calls
