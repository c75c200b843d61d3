#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

struct Case {
  Shape x, y, kernel, strides, pads, dilations;
  json attrs() const {
    return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
  }
};

const Case kCases[] = {
    {{2, 3, 10}, {2, 3, 5}, {3}, {2}, {1, 1}, {1}},
    {{1, 2, 7, 9}, {1, 2, 4, 4}, {3, 2}, {2, 2}, {1, 0, 1, 0}, {1, 2}}, // last row by ceil_mode
    {{2, 1, 4, 5, 6}, {2, 1, 3, 4, 5}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}},
    {{0, 3, 10}, {0, 3, 5}, {3}, {2}, {1, 1}, {1}},
};

/// f(places of the window inside the image, taps inside the padded image) for every output element in order.
template <typename F> void forWindows(const Case &c, F &&f) {
  size_t rank = c.kernel.size();
  forEachIndex(c.y, [&](const Shape &out) {
    std::vector<int64_t> places;
    int64_t padded = 0;
    forEachIndex(c.kernel, [&](const Shape &tap) {
      Shape at = {out[0], out[1]};
      bool inside = true, inPadding = true;
      for (size_t i = 0; i < rank; ++i) {
        at.push_back(out[i + 2] * c.strides[i] + tap[i] * c.dilations[i] - c.pads[i]);
        inside &= at.back() >= 0 && at.back() < c.x[i + 2];
        inPadding &= at.back() < c.x[i + 2] + c.pads[rank + i];
      }
      padded += inPadding;
      if (inside)
        places.push_back(flatten(c.x, at));
    });
    f(flatten(c.y, out), places, padded);
  });
}

template <typename T> void check(const Case &c, double tolerance) {
  Array x = Array::random<T>(c.x, 1), dy = Array::random<T>(c.y, 2);
  std::vector<double> xs = x.doubles(), grads = dy.doubles();
  std::vector<double> top(dy.size()), indices(dy.size()), topGrad(x.size());
  std::vector<double> mean[2] = {top, top}, meanGrad[2] = {topGrad, topGrad};
  forWindows(c, [&](int64_t o, const std::vector<int64_t> &places, int64_t padded) {
    int64_t best = places[0];
    for (int64_t i : places) {
      best = xs[i] > xs[best] ? i : best;
      for (int include : {0, 1}) {
        double count = include ? static_cast<double>(padded) : static_cast<double>(places.size());
        mean[include][o] += xs[i] / count, meanGrad[include][i] += grads[o] / count;
      }
    }
    top[o] = xs[best], indices[o] = static_cast<double>(best), topGrad[best] += grads[o];
  });
  auto pooled = runKernel("onnx.MaxPool", c.attrs(), {x}, {dy.desc, {DType::I64, c.y}});
  expectNear(pooled[0], top, 0);
  expectNear(pooled[1], indices, 0);
  expectNear(runKernel1("train.max_pool_grad", c.attrs(), {dy, x}, x.desc), topGrad, tolerance);
  for (int include : {0, 1}) {
    json attrs = c.attrs();
    attrs["count_include_pad"] = include;
    expectNear(runKernel1("onnx.AveragePool", attrs, {x}, dy.desc), mean[include], tolerance);
    expectNear(runKernel1("train.average_pool_grad", attrs, {dy}, x.desc), meanGrad[include], tolerance);
  }
}

TEST(KernelPool, WindowsAndGradients) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.attrs().dump());
    check<float>(c, 1e-6);
    check<double>(c, 1e-14);
    check<BFloat16>(c, 1e-5);
  }
}

TEST(KernelPool, TheFirstOfEqualMaximaTakesTheGradient) {
  Array x = Array::of<float>({1, 1, 4}, {2, 2, 1, 1}), dy = Array::of<float>({1, 1, 2}, {5, 7});
  json attrs = {{"kernel_shape", {2}}, {"strides", {2}}};
  expectNear(runKernel1("train.max_pool_grad", attrs, {dy, x}, x.desc), {5, 0, 7, 0}, 0);
}

TEST(KernelPool, ColumnMajorIndices) {
  Array x = Array::of<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  json attrs = {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}, {"storage_order", 1}};
  TensorDesc y{DType::F32, {1, 1, 1, 2}};
  auto pooled = runKernel("onnx.MaxPool", attrs, {x}, {y, {DType::I64, y.shape}});
  EXPECT_EQ(pooled[1].values<int64_t>(), (std::vector<int64_t>{3, 7}));
}

} // namespace
} // namespace kedge::rt::test
