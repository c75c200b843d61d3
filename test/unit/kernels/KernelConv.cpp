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

/// f(x place, w place, y place) for every product of the convolution.
template <typename F> void forEachProduct(const Case &c, F &&f) {
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

template <typename T> void check(const Case &c, double tolerance) {
  DType type = dtypeOf<T>();
  Array x = Array::random<T>(c.x, 1), w = Array::random<T>(c.w, 2), dy = Array::random<T>(c.y(), 3);
  Array bias = Array::random<T>({c.w[0]}, 4), transposedBias = Array::random<T>({c.x[1]}, 5);
  std::vector<double> xs = x.doubles(), ws = w.doubles(), dys = dy.doubles();
  std::vector<double> y(dys.size()), dx(xs.size()), dw(ws.size());
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    y[yi] += xs[xi] * ws[wi], dx[xi] += dys[yi] * ws[wi], dw[wi] += dys[yi] * xs[xi];
  });
  expectNear(runKernel1("onnx.Conv", c.attrs(), {x, w}, dy.desc), y, tolerance);
  expectNear(runKernel1("train.ConvTransposeGradInput", c.attrs(), {x, w}, dy.desc), y, tolerance);
  expectNear(runKernel1("train.ConvGradInput", c.attrs(), {dy, w}, x.desc), dx, tolerance);
  expectNear(runKernel1("onnx.ConvTranspose", c.attrs(), {dy, w}, x.desc), dx, tolerance);
  expectNear(runKernel1("train.ConvGradWeight", c.attrs(), {x, dy}, w.desc), dw, 4 * tolerance);
  expectNear(runKernel1("train.ConvTransposeGradWeight", c.attrs(), {dy, x}, w.desc), dw, 4 * tolerance);
  forEachIndex(dy.desc.shape, [&](const Shape &i) { y[flatten(dy.desc.shape, i)] += bias.doubles()[i[1]]; });
  forEachIndex(c.x, [&](const Shape &i) { dx[flatten(c.x, i)] += transposedBias.doubles()[i[1]]; });
  expectNear(runKernel1("onnx.Conv", c.attrs(), {x, w, bias}, {type, c.y()}), y, tolerance);
  expectNear(runKernel1("onnx.ConvTranspose", c.attrs(), {dy, w, transposedBias}, x.desc), dx, tolerance);
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

// Gradients of filters from bands: blocks of channels that are not full, 64 of them together, dilations, pads that differ, one
// dimension, and an image of more than one band.
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
