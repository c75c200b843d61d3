#include "test/unit/kernels/KernelTest.h"
#include <cmath>

namespace kedge::rt::test {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Sizes of all tests here: 4 steps, batch of 3, 2 inputs, 5 hidden.
constexpr int64_t T = 4, B = 3, I = 2, H = 5;

struct Weights {
  Array x, w, r, bias, lengths, h0;
  explicit Weights(int64_t gates, int64_t directions)
      : x(Array::random<double>({T, B, I}, 1)), w(Array::random<double>({directions, gates * H, I}, 2)),
        r(Array::random<double>({directions, gates * H, H}, 3)),
        bias(Array::random<double>({directions, 2 * gates * H}, 4)),
        lengths(Array::of<int32_t>({B}, {4, 2, 0})), h0(Array::random<double>({directions, B, H}, 5)) {}

  /// W x + R h with both biases, for gate g and unit j of a direction.
  double input(int64_t gates, int64_t d, int64_t g, int64_t j, const double *at) const {
    double sum = bias.data<double>()[d * 2 * gates * H + g * H + j];
    for (int64_t k = 0; k < I; ++k)
      sum += w.data<double>()[((d * gates + g) * H + j) * I + k] * at[k];
    return sum;
  }
  double state(int64_t gates, int64_t d, int64_t g, int64_t j, const std::vector<double> &h) const {
    double sum = bias.data<double>()[d * 2 * gates * H + gates * H + g * H + j];
    for (int64_t k = 0; k < H; ++k)
      sum += r.data<double>()[((d * gates + g) * H + j) * H + k] * h[k];
    return sum;
  }
};

/// Runs step(x, h) over one sequence and compares Y and Y_h of one direction and batch row.
template <typename Step>
void expectSequence(const Weights &weights, const std::vector<Array> &out, int64_t directions, int64_t d,
                    int64_t b, bool reverse, Step &&step) {
  int64_t length = weights.lengths.data<int32_t>()[b];
  const double *h0 = weights.h0.data<double>() + (d * B + b) * H;
  std::vector<double> h(h0, h0 + H);
  for (int64_t s = 0; s < T; ++s) {
    int64_t t = reverse && s < length ? length - 1 - s : s;
    if (s < length)
      h = step(weights.x.data<double>() + (t * B + b) * I, h);
    for (int64_t j = 0; j < H; ++j)
      EXPECT_NEAR(out[0].data<double>()[((t * directions + d) * B + b) * H + j], s < length ? h[j] : 0,
                  1e-12);
  }
  for (int64_t j = 0; j < H; ++j)
    EXPECT_NEAR(out[1].data<double>()[(d * B + b) * H + j], h[j], 1e-12);
}

TEST(KernelRecurrent, RnnBothDirections) {
  Weights weights(1, 2);
  auto out = runKernel("onnx.RNN", {{"hidden_size", H}, {"direction", "bidirectional"}},
                       {weights.x, weights.w, weights.r, weights.bias, weights.lengths, weights.h0},
                       {{DType::F64, {T, 2, B, H}}, {DType::F64, {2, B, H}}});
  for (int64_t d : {0, 1})
    for (int64_t b = 0; b < B; ++b)
      expectSequence(weights, out, 2, d, b, d == 1, [&](const double *x, const std::vector<double> &h) {
        std::vector<double> next(H);
        for (int64_t j = 0; j < H; ++j)
          next[j] = std::tanh(weights.input(1, d, 0, j, x) + weights.state(1, d, 0, j, h));
        return next;
      });
}

TEST(KernelRecurrent, GruResetBeforeAndAfter) {
  Weights weights(3, 1);
  for (bool linear : {false, true}) {
    auto out = runKernel("onnx.GRU", {{"hidden_size", H}, {"linear_before_reset", linear}},
                         {weights.x, weights.w, weights.r, weights.bias, weights.lengths, weights.h0},
                         {{DType::F64, {T, 1, B, H}}, {DType::F64, {1, B, H}}});
    for (int64_t b = 0; b < B; ++b)
      expectSequence(weights, out, 1, 0, b, false, [&](const double *x, const std::vector<double> &h) {
        std::vector<double> next(H), reset(H), scaled(H);
        for (int64_t j = 0; j < H; ++j) {
          reset[j] = sigmoid(weights.input(3, 0, 1, j, x) + weights.state(3, 0, 1, j, h));
          scaled[j] = reset[j] * h[j];
        }
        for (int64_t j = 0; j < H; ++j) {
          double z = sigmoid(weights.input(3, 0, 0, j, x) + weights.state(3, 0, 0, j, h));
          double part = linear ? reset[j] * weights.state(3, 0, 2, j, h) : weights.state(3, 0, 2, j, scaled);
          next[j] = (1 - z) * std::tanh(weights.input(3, 0, 2, j, x) + part) + z * h[j];
        }
        return next;
      });
  }
}

TEST(KernelRecurrent, LstmReverseWithoutCellInput) {
  Weights weights(4, 1);
  json attrs = {{"hidden_size", H}, {"direction", "reverse"}, {"results", {true, true, true}}};
  auto out = runKernel("onnx.LSTM", attrs,
                       {weights.x, weights.w, weights.r, weights.bias, weights.lengths, weights.h0},
                       {{DType::F64, {T, 1, B, H}}, {DType::F64, {1, B, H}}, {DType::F64, {1, B, H}}});
  for (int64_t b = 0; b < B; ++b) {
    std::vector<double> c(H);
    expectSequence(weights, out, 1, 0, b, true, [&](const double *x, const std::vector<double> &h) {
      std::vector<double> next(H);
      for (int64_t j = 0; j < H; ++j) {
        auto gate = [&](int64_t g) { return weights.input(4, 0, g, j, x) + weights.state(4, 0, g, j, h); };
        c[j] = sigmoid(gate(2)) * c[j] + sigmoid(gate(0)) * std::tanh(gate(3));
        next[j] = sigmoid(gate(1)) * std::tanh(c[j]);
      }
      return next;
    });
    for (int64_t j = 0; j < H; ++j)
      EXPECT_NEAR(out[2].data<double>()[b * H + j], c[j], 1e-12);
  }
}

/// State and sums stay in fp32 over all steps; what is stored is rounded once.
template <typename S> void checkNarrow() {
  const int64_t steps = 40;
  auto x = Array::random<S>({steps, B, I}, 1), w = Array::random<S>({1, 4 * H, I}, 2),
       r = Array::random<S>({1, 4 * H, H}, 3), bias = Array::random<S>({1, 8 * H}, 4);
  auto outputs = [&](DType type) {
    return std::vector<TensorDesc>{{type, {steps, 1, B, H}}, {type, {1, B, H}}, {type, {1, B, H}}};
  };
  std::vector<Array> wide;
  for (const Array &array : {x, w, r, bias}) {
    std::vector<double> values = array.doubles();
    wide.push_back(Array::of<float>(array.desc.shape, {values.begin(), values.end()}));
  }
  json attrs = {{"hidden_size", H}, {"results", {true, true, true}}};
  std::vector<Array> expected = runKernel("onnx.LSTM", attrs, wide, outputs(DType::F32));
  std::vector<Array> narrow = runKernel("onnx.LSTM", attrs, {x, w, r, bias}, outputs(dtypeOf<S>()));
  for (size_t i = 0; i < expected.size(); ++i)
    for (int64_t j = 0; j < expected[i].size(); ++j)
      EXPECT_EQ(static_cast<float>(narrow[i].data<S>()[j]),
                static_cast<float>(S(expected[i].data<float>()[j])));
}

TEST(KernelRecurrent, NarrowTypesRoundWhatTheyStore) {
  checkNarrow<BFloat16>();
  checkNarrow<Float16>();
}

} // namespace
} // namespace kedge::rt::test
