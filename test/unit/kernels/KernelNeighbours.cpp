// Panels of convolutions by masked loads, against the taps read one by one: columns over several images, any
// k.
#include "runtime/cpu/conv/ConvPanels.h"
#include "test/unit/kernels/KernelTest.h"
#include <random>

namespace kedge::rt::test {
namespace {

using namespace rt::cpu;
using rt::calls::ConvShape, rt::calls::Space;

ConvShape sameSize(int64_t batch, int64_t channels, Space in, Space kernel) {
  ConvShape c{};
  c.batch = batch, c.channels = c.filters = channels, c.groups = 1;
  c.in = c.out = in, c.kernel = kernel;
  c.stride = c.dilation = {1, 1, 1};
  for (size_t axis = 0; axis < 3; ++axis)
    c.pad[axis] = (kernel[axis] - 1) / 2;
  return c;
}

/// One row, whose result has another length.
ConvShape rowOf(int64_t batch, int64_t channels, int64_t length, int64_t dilation, int64_t pad) {
  ConvShape c = sameSize(batch, channels, {1, 1, length}, {1, 1, 2});
  c.dilation[2] = dilation, c.pad[2] = pad, c.out[2] = length + 2 * pad - dilation;
  return c;
}

/// The rows as ConvTaps reads them.
template <bool Back, typename S>
std::vector<S> readOneByOne(const ConvShape &c, const PanelRows<S> &rows, int64_t k0, int64_t length) {
  const Space &read = NeighbourMasks::read(c, Back);
  std::vector<S> panel(length * maskedLanes());
  TapRow row(c.kernel, k0);
  for (int64_t p = 0; p < length; ++p, row.next(c.kernel))
    for (int64_t i = 0; i < rows.count; ++i) {
      const S *source = rows.images[i] + row.channel * read[0] * read[1] * read[2];
      S *to = panel.data() + p * maskedLanes() + rows.segments[i].at;
      if constexpr (Back)
        readTapBack(c, source, rows.segments[i], row.tap[0], row.tap[1], row.tap[2], to);
      else
        readTap(c, source, rows.segments[i], row.tap[0], row.tap[1], row.tap[2], to);
    }
  return panel;
}

/// T: what the machine copies for elements of S.
template <typename T, typename S, bool Back> void compare(const ConvShape &c, std::minstd_rand &random) {
  const Space &space = Back ? c.in : c.out, &read = NeighbourMasks::read(c, Back);
  const int64_t plane = read[0] * read[1] * read[2];
  std::vector<S> image(c.batch * c.channels * plane);
  for (S &value : image)
    value = static_cast<float>(random() % 255) + 1;
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<size_t>(limit));
  };
  const int64_t places = c.batch * space[0] * space[1] * space[2], depth = c.channels * c.taps();
  for (int trial = 0; trial < 8; ++trial) {
    const int64_t column = below(places), k0 = below(depth), length = 1 + below(depth - k0);
    const PanelRows<S> rows(space, image.data(), c.channels * plane, column,
                            std::min<int64_t>(maskedLanes(), places - column));
    std::vector<S> panel(length * maskedLanes(), S(-1.f)), expected = readOneByOne<Back>(c, rows, k0, length);
    copyNeighbours(c, Back, reinterpret_cast<T *>(panel.data()), rows, k0, length);
    ASSERT_EQ(std::memcmp(panel.data(), expected.data(), panel.size() * sizeof(S)), 0)
        << "column " << column << ", k0 " << k0 << ", length " << length;
  }
}

template <typename T, typename S> void compareShapes() {
  if (!maskedRows<T>())
    GTEST_SKIP() << "the machine has no masked loads";
  std::minstd_rand random(7);
  for (const ConvShape &c : {sameSize(3, 5, {1, 7, 7}, {1, 3, 3}), sameSize(2, 64, {1, 14, 14}, {1, 3, 3}),
                             sameSize(1, 20, {1, 56, 56}, {1, 3, 3}), sameSize(2, 70, {1, 1, 33}, {1, 1, 5}),
                             sameSize(2, 9, {3, 5, 6}, {3, 3, 3}), sameSize(40, 3, {1, 2, 2}, {1, 3, 3}),
                             rowOf(2, 6, 70, 8, 0), rowOf(5, 4, 19, 3, 3), rowOf(1, 7, 40, 64, 64)}) {
    compare<T, S, false>(c, random);
    compare<T, S, true>(c, random);
  }
}

TEST(KernelNeighbours, OfFloatsAreWhatTapsRead) { compareShapes<float, float>(); }
TEST(KernelNeighbours, OfBf16AreWhatTapsRead) { compareShapes<uint16_t, BFloat16>(); }

} // namespace
} // namespace kedge::rt::test
