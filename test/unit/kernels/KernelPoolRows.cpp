// Maxima of whole rows of windows against windows one by one: the same bits, in each set of instructions.
#include "runtime/calls/Types.h"
#include "test/unit/kernels/KernelTest.h"
#include <limits>

namespace kedge::rt::test {
namespace {

/// One value for each spatial dimension. Pads are at the beginnings; `out` says where the last windows end.
struct Case {
  Shape in, out, kernel, strides, pads, dilations;

  json attrs() const {
    Shape both = pads;
    both.insert(both.end(), pads.begin(), pads.end());
    return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", both}, {"dilations", dilations}};
  }
};

constexpr int64_t kPlanes = 3;

const Case kCases[] = {
    {{40}, {20}, {2}, {2}, {0}, {1}},
    {{75}, {38}, {3}, {2}, {1}, {1}},
    {{37}, {35}, {5}, {1}, {3}, {2}},
    {{100}, {34}, {4}, {3}, {2}, {1}},
    {{9}, {12}, {2}, {2}, {4}, {1}}, // the first and last windows are empty
    {{23, 70}, {12, 35}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {{13, 13}, {13, 13}, {13, 13}, {1, 1}, {6, 6}, {1, 1}},
    {{9, 20}, {4, 9}, {2, 3}, {2, 2}, {0, 0}, {1, 1}},
    {{14, 31}, {12, 33}, {3, 2}, {1, 1}, {1, 2}, {2, 3}},
    {{7, 9}, {4, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, // ceil_mode: a row and a column of windows reach beyond
                                                      // the image
    {{6, 50}, {2, 8}, {3, 7}, {3, 6}, {1, 0}, {1, 1}},
    {{20, 9}, {10, 3}, {2, 3}, {2, 3}, {0, 0}, {1, 1}}, // too short to take a row at once
    {{4, 5, 26}, {3, 4, 13}, {2, 2, 2}, {1, 1, 2}, {0, 0, 0}, {1, 1, 1}},
    {{5, 6, 19}, {3, 3, 19}, {3, 3, 3}, {2, 2, 1}, {1, 1, 1}, {1, 1, 1}},
};

Shape tensorShape(const Shape &spatial) {
  Shape shape = {1, kPlanes};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

/// Where the tap of the result's window is in a plane; -1 outside of the image.
int64_t placeOf(const Case &c, const Shape &result, const Shape &tap) {
  Shape at;
  for (size_t i = 0; i < c.in.size(); ++i) {
    at.push_back(result[i] * c.strides[i] + tap[i] * c.dilations[i] - c.pads[i]);
    if (at.back() < 0 || at.back() >= c.in[i])
      return -1;
  }
  return flatten(c.in, at);
}

/// Of each result of a plane the place of the largest element; -1: empty window.
template <typename T> std::vector<int64_t> plainMaxima(const Case &c, const T *plane) {
  std::vector<int64_t> maxima;
  forEachIndex(c.out, [&](const Shape &result) {
    int64_t best = -1;
    forEachIndex(c.kernel, [&](const Shape &tap) {
      const int64_t place = placeOf(c, result, tap);
      if (place < 0)
        return;
      const double value = static_cast<double>(plane[place]),
                   top = best < 0 ? 0 : static_cast<double>(plane[best]);
      if (best < 0 || value > top || (value != value && top == top))
        best = place;
    });
    maxima.push_back(best);
  });
  return maxima;
}

struct Expected {
  Array y, indices, dx;
};

template <typename T> Expected plainPool(const Case &c, const Array &x, const Array &dy) {
  const int64_t inSize = x.size() / kPlanes, outSize = dy.size() / kPlanes;
  std::vector<T> y;
  std::vector<int64_t> indices;
  std::vector<rt::calls::Compute<T>> sums(x.size());
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    const std::vector<int64_t> maxima = plainMaxima(c, x.data<T>() + plane * inSize);
    for (int64_t o = 0; o < outSize; ++o) {
      const int64_t place = plane * inSize + maxima[o];
      indices.push_back(place);
      y.push_back(maxima[o] < 0 ? static_cast<T>(-std::numeric_limits<float>::infinity())
                                : x.data<T>()[place]);
      if (maxima[o] >= 0)
        sums[place] += static_cast<rt::calls::Compute<T>>(dy.data<T>()[plane * outSize + o]);
    }
  }
  std::vector<T> dx;
  for (const auto sum : sums)
    dx.push_back(static_cast<T>(sum));
  return {Array::of(dy.desc.shape, y), Array::of(dy.desc.shape, indices), Array::of(x.desc.shape, dx)};
}

void expectSame(const Array &actual, const Array &expected, const char *what) {
  EXPECT_EQ(std::memcmp(actual.bytes(), expected.bytes(), expected.desc.bytes()), 0) << what;
}

template <typename T> void check(const Case &c, const Array &x) {
  const Array dy = Array::random<T>(tensorShape(c.out), 2);
  const Expected expected = plainPool<T>(c, x, dy);
  const auto both = runKernel("onnx.MaxPool", c.attrs(), {x}, {dy.desc, expected.indices.desc});
  expectSame(both[0], expected.y, "Y beside Indices");
  expectSame(both[1], expected.indices, "Indices");
  expectSame(runKernel1("onnx.MaxPool", c.attrs(), {x}, dy.desc), expected.y, "Y");
  expectSame(runKernel1("train.max_pool_grad", c.attrs(), {dy, x}, x.desc), expected.dx, "dX");
}

/// A quarter are ties of few numbers; some zeros of both signs, NaN with two payloads, and infinities.
template <typename T> Array strange(const Shape &shape) {
  Array x = Array::random<T>(shape, 1);
  const T quiet = static_cast<T>(std::numeric_limits<float>::quiet_NaN()),
          infinity = static_cast<T>(std::numeric_limits<float>::infinity());
  const T special[] = {static_cast<T>(1.0f),
                       static_cast<T>(1.0f),
                       static_cast<T>(0.0f),
                       static_cast<T>(-0.0f),
                       -infinity,
                       infinity,
                       quiet,
                       -quiet};
  std::mt19937 generator(3);
  for (int64_t i = 0; i < x.size(); ++i)
    if (const unsigned kind = generator() % 32; kind < std::size(special))
      x.data<T>()[i] = special[kind];
  return x;
}

template <typename T> void checkAll() {
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    for (const Case &c : kCases) {
      SCOPED_TRACE(c.attrs().dump() + " isa " + std::to_string(static_cast<int>(isa)));
      const Shape shape = tensorShape(c.in);
      check<T>(c, Array::random<T>(shape, 1));
      check<T>(c, strange<T>(shape));
      Array lowest = Array::random<T>(shape, 1);
      std::fill_n(lowest.data<T>(), lowest.size(), static_cast<T>(-std::numeric_limits<float>::infinity()));
      check<T>(c, lowest);
    }
  }
}

TEST(KernelPoolRows, HaveTheBitsOfSingleWindows) {
  checkAll<float>();
  checkAll<double>();
  checkAll<BFloat16>();
  checkAll<Float16>();
}

} // namespace
} // namespace kedge::rt::test
