#include "runtime/cpu/conv/ConvDots.h"
#include "runtime/cpu/conv/ConvSpread.h"
#include "runtime/cpu/conv/ConvWinograd.h"
#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

struct Case {
  Shape x, w; ///< [N,C,...], [M,C/g,...]
  int64_t group = 1;
  Shape strides, pads, dilations;

  size_t rank() const { return x.size() - 2; }
  int64_t padEnd(size_t i) const { return pads[rank() + i]; }
  Shape y() const {
    Shape shape = {x[0], w[0]};
    for (size_t i = 0; i < rank(); ++i)
      shape.push_back((x[i + 2] + pads[i] + padEnd(i) - (w[i + 2] - 1) * dilations[i] - 1) / strides[i] + 1);
    return shape;
  }
  json attrs() const {
    return {{"group", group}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
  }
};

rt::calls::ConvShape shapeOf(const Case &c) {
  const TensorDesc x{DType::F32, c.x}, w{DType::F32, c.w}, y{DType::F32, c.y()};
  return rt::calls::readConv({"onnx.Conv", c.attrs(), {x, w}, {y}}, x, w, y);
}

/// f(x place, w place, y place) for every product of the convolution.
template <typename F> void forEachMatmul(const Case &c, F &&f) {
  Shape outShape = c.y(), taps(c.w.begin() + 1, c.w.end());
  int64_t channels = c.w[1], filters = c.w[0] / c.group;
  forEachIndex(outShape, [&](const Shape &y) {
    forEachIndex(taps, [&](const Shape &tap) {
      int64_t group = y[1] / filters;
      Shape x = {y[0], group * channels + tap[0]}, w = {y[1]};
      w.insert(w.end(), tap.begin(), tap.end());
      for (size_t i = 0; i < c.rank(); ++i) {
        int64_t place = y[i + 2] * c.strides[i] + tap[i + 1] * c.dilations[i] - c.pads[i];
        if (place < 0 || place >= c.x[i + 2])
          return;
        x.push_back(place);
      }
      f(flatten(c.x, x), flatten(c.w, w), flatten(outShape, y));
    });
  });
}

/// Operands, and what a convolution and its gradients should be.
struct Expected {
  Array x, w, dy, bias, transposedBias;
  std::vector<double> y, dx, dw, yBiased, dxBiased;
};

template <typename T> Expected expectedOf(const Case &c) {
  Expected e{Array::random<T>(c.x, 1),
             Array::random<T>(c.w, 2),
             Array::random<T>(c.y(), 3),
             Array::random<T>({c.w[0]}, 4),
             Array::random<T>({c.x[1]}, 5),
             {},
             {},
             {},
             {},
             {}};
  const std::vector<double> xs = e.x.doubles(), ws = e.w.doubles(), dys = e.dy.doubles();
  e.y.resize(dys.size()), e.dx.resize(xs.size()), e.dw.resize(ws.size());
  forEachMatmul(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    e.y[yi] += xs[xi] * ws[wi], e.dx[xi] += dys[yi] * ws[wi], e.dw[wi] += dys[yi] * xs[xi];
  });
  e.yBiased = e.y, e.dxBiased = e.dx;
  forEachIndex(c.y(), [&](const Shape &i) { e.yBiased[flatten(c.y(), i)] += e.bias.doubles()[i[1]]; });
  forEachIndex(c.x, [&](const Shape &i) { e.dxBiased[flatten(c.x, i)] += e.transposedBias.doubles()[i[1]]; });
  return e;
}

void expectKernels(const Case &c, const Expected &e, double tolerance) {
  expectNear(runKernel1("onnx.Conv", c.attrs(), {e.x, e.w}, e.dy.desc), e.y, tolerance);
  expectNear(runKernel1("train.conv_transpose_grad_input", c.attrs(), {e.x, e.w}, e.dy.desc), e.y, tolerance);
  expectNear(runKernel1("train.conv_grad_input", c.attrs(), {e.dy, e.w}, e.x.desc), e.dx, tolerance);
  expectNear(runKernel1("onnx.ConvTranspose", c.attrs(), {e.dy, e.w}, e.x.desc), e.dx, tolerance);
  expectNear(runKernel1("train.conv_grad_weight", c.attrs(), {e.x, e.dy}, e.w.desc), e.dw, 4 * tolerance);
  expectNear(runKernel1("train.conv_transpose_grad_weight", c.attrs(), {e.dy, e.x}, e.w.desc), e.dw,
             4 * tolerance);
  expectNear(runKernel1("onnx.Conv", c.attrs(), {e.x, e.w, e.bias}, e.dy.desc), e.yBiased, tolerance);
  expectNear(runKernel1("onnx.ConvTranspose", c.attrs(), {e.dy, e.w, e.transposedBias}, e.x.desc), e.dxBiased,
             tolerance);
}

template <typename T> void check(const Case &c, double tolerance) {
  expectKernels(c, expectedOf<T>(c), tolerance);
}

const Case kCases[] = {
    {{1, 1, 5}, {1, 1, 3}, 1, {1}, {0, 0}, {1}},
    {{2, 4, 30}, {6, 2, 3}, 2, {2}, {2, 1}, {2}},
    {{2, 3, 9, 11}, {5, 3, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{1, 3, 12, 10}, {4, 3, 3, 2}, 1, {2, 3}, {0, 1, 2, 0}, {2, 1}},
    {{3, 6, 8, 8}, {6, 1, 3, 3}, 6, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{2, 20, 7, 7}, {30, 20, 1, 1}, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, 1, {1, 2, 1}, {0, 1, 0, 1, 1, 0}, {1, 1, 2}},
    {{2, 3, 13, 41}, {6, 1, 5, 3}, 3, {2, 3}, {2, 0, 1, 3}, {1, 2}}, // two filters a channel
    {{2, 4, 7, 7}, {4, 1, 5, 5}, 4, {2, 2}, {2, 2, 2, 2}, {1, 1}},
    {{1, 2, 300, 290}, {2, 1, 3, 3}, 2, {2, 2}, {1, 1, 1, 1}, {1, 1}}, // in bands
    {{2, 2, 9}, {2, 1, 4}, 2, {1}, {3, 0}, {1}},
    {{1, 2, 5, 6, 7}, {2, 1, 3, 2, 3}, 2, {2, 1, 1}, {1, 1, 3, 1, 0, 3}, {1, 2, 2}},
    {{2, 3, 6, 5}, {3, 1, 1, 1}, 3, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {{2, 3, 5, 1}, {3, 1, 3, 1}, 3, {2, 2}, {1, 0, 1, 0}, {1, 1}},
    {{3, 2, 14, 15}, {2, 1, 3, 3}, 2, {2, 2}, {1, 1, 0, 1}, {1, 1}},
    {{2, 2, 5, 6, 37}, {4, 1, 3, 3, 3}, 2, {2, 1, 2}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
    {{2, 3, 40, 33}, {3, 1, 3, 3}, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, // more places than a chain of sums
    {{0, 2, 5}, {2, 1, 2}, 2, {1}, {0, 0}, {1}},
    {{2, 20, 7, 9}, {30, 20, 1, 1}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {{0, 2, 5}, {3, 2, 2}, 1, {1}, {0, 0}, {1}},
    // As many places out as in: neighbours, five images in a panel, pads that differ, three dimensions.
    {{7, 3, 3, 3}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{3, 5, 17, 19}, {7, 5, 3, 3}, 1, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {{2, 6, 9, 5}, {4, 3, 4, 4}, 2, {1, 1}, {2, 1, 1, 2}, {1, 1}},
    {{3, 40, 20, 3}, {5, 40, 5, 5}, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}},
    {{2, 3, 4, 5, 6}, {4, 3, 3, 3, 3}, 1, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
};

// Few channels and a stride: padding, dilation, groups, gaps between the places, one and three dimensions, no
// image, and lines of more than one product.
const Case kSpread[] = {
    {{3, 3, 32, 30}, {13, 3, 4, 4}, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}},
    {{2, 4, 30, 27}, {16, 2, 3, 2}, 2, {2, 1}, {0, 3, 2, 0}, {2, 3}},
    {{1, 1, 400}, {4, 1, 5}, 1, {3}, {7, 2}, {1}},
    {{2, 1, 9, 14, 21}, {5, 1, 2, 3, 1}, 1, {1, 2, 2}, {1, 1, 0, 1, 0, 3}, {1, 2, 1}},
    {{1, 2, 61, 270}, {8, 2, 4, 5}, 1, {2, 2}, {1, 2, 1, 2}, {1, 1}},
    {{0, 1, 40, 40}, {4, 1, 2, 2}, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},
};

TEST(KernelConv, FewChannelsSpread) {
  for (const Case &c : kSpread)
    EXPECT_TRUE(cpu::isSpread(shapeOf(c)) && shapeOf(c).stride != (rt::calls::Space{1, 1, 1}))
        << c.attrs().dump();
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    for (const Case &c : kSpread) {
      SCOPED_TRACE(::testing::Message() << c.attrs().dump() << " isa " << static_cast<int>(isa));
      check<float>(c, 1e-5);
    }
  }
}

// Gradients of filters from bands: blocks of channels that are not full, 64 of them together, dilations, pads
// that differ, one dimension, and an image of more than one band.
const Case kBanded[] = {
    {{2, 33, 6, 30}, {5, 33, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{1, 128, 2, 50}, {3, 128, 3, 3}, 1, {1, 1}, {1, 0, 1, 2}, {1, 1}},
    {{2, 24, 9, 60}, {14, 24, 2, 3}, 1, {1, 1}, {0, 3, 1, 1}, {3, 2}},
    {{3, 24, 100}, {7, 24, 5}, 1, {1}, {3, 0}, {1}},
    {{1, 24, 64, 58}, {1, 24, 2, 2}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
};

TEST(KernelConv, GradientsOfFiltersFromBands) {
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    for (const Case &c : kBanded) {
      SCOPED_TRACE(::testing::Message() << c.attrs().dump() << " isa " << static_cast<int>(isa));
      check<float>(c, 1e-5);
    }
    check<double>(kBanded[0], 1e-13);
    check<Float16>(kBanded[1], 1e-5);
    check<BFloat16>(kBanded[1], 1e-5);
  }
}

// With fewer multiplications: rows of odd length, images that begin in the middle of a panel or a vector,
// pads of zero to two that differ, several blocks, more channels than a part of a panel, a result that is
// smaller than its source.
const Case kTransformed[] = {
    {{3, 40, 9, 30}, {52, 40, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{1, 390, 22, 24}, {16, 390, 3, 3}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {{2, 16, 15, 35}, {21, 16, 3, 3}, 1, {1, 1}, {2, 0, 1, 2}, {1, 1}},
    {{5, 70, 13, 14}, {31, 70, 3, 3}, 1, {1, 1}, {0, 2, 2, 1}, {1, 1}},
    {{1, 16, 40, 46}, {17, 16, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
};

TEST(KernelConv, WithFewerMultiplications) {
  int64_t filters = 0;
  for (const Case &c : kTransformed) {
    const rt::calls::ConvShape shape = shapeOf(c);
    for (const bool back : {false, true})
      ASSERT_TRUE(cpu::isWinograd(shape, back)) << c.attrs().dump();
    filters += cpu::isWinogradFilter(shape);
    const Expected expected = expectedOf<float>(c);
    for (cpu::Isa isa : isasOfThisMachine()) {
      SCOPED_TRACE(::testing::Message() << c.attrs().dump() << " isa " << static_cast<int>(isa));
      ForcedIsa forced(isa);
      expectKernels(c, expected, c.x[1] > 100 ? 3e-5 : 1e-5); // long sums
    }
  }
  EXPECT_EQ(filters, 3);
}

// Dot products of planes: rows of filters and columns that fill no tile, pieces of a plane, steps, one
// dimension.
const Case kFew[] = {
    {{2, 3, 47, 51}, {7, 3, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{1, 4, 130, 70}, {13, 4, 2, 2}, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {{2, 33, 46, 46}, {9, 33, 1, 1}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {{1, 5, 92, 92}, {40, 5, 1, 1}, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {{9, 2, 2100}, {3, 2, 4}, 1, {1}, {3, 0}, {1}},
};

TEST(KernelConv, GradientsOfFiltersFromDots) {
  for (const Case &c : kFew) {
    ASSERT_TRUE(cpu::isDots(shapeOf(c))) << c.attrs().dump();
    for (cpu::Isa isa : isasOfThisMachine()) {
      SCOPED_TRACE(::testing::Message() << c.attrs().dump() << " isa " << static_cast<int>(isa));
      ForcedIsa forced(isa);
      check<float>(c, 2e-5); // sums of up to 19,000 products
      check<double>(c, 1e-13);
    }
  }
}

TEST(KernelConv, ForwardAndGradients) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.attrs().dump());
    check<float>(c, 1e-5);
    check<double>(c, 1e-13);
  }
}

TEST(KernelConv, NarrowTypes) {
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    for (const Case &c : kCases) {
      SCOPED_TRACE(::testing::Message() << c.attrs().dump() << " isa " << static_cast<int>(isa));
      check<BFloat16>(c, 1e-5);
    }
    check<Float16>(kCases[2], 1e-5);
  }
}

TEST(KernelConv, WrongSizesAreNamed) {
  Array x = Array::random<float>({1, 1, 5}, 1), w = Array::random<float>({1, 1, 3}, 2);
  EXPECT_NE(errorOf("onnx.Conv", {}, {x, w}, {{DType::F32, {1, 1, 4}}}).find("is 4, expected 3"),
            std::string::npos);
}

} // namespace
} // namespace kedge::rt::test
