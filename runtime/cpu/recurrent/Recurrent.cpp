// onnx.LSTM, GRU, RNN: forward only, rows of the batch shared out among the threads.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/recurrent/Activation.h"
#include <cmath>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

enum class Cell { Rnn, Gru, Lstm };

struct RecurrentShape {
  Cell cell;
  int64_t steps, batch, inputs, hidden, directions, gates;
  bool reverseOnly, batchFirst, linearBeforeReset, inputForget;
  double clip;
  std::vector<Activation> activations; ///< of each direction in turn
  int w = 1, r = 2, bias, lengths, h0, c0, peepholes, y, yh, yc;
};

RecurrentShape readRecurrent(const LibraryCall &call, Cell cell) {
  expectCounts(call, 3, 8, 0, 3);
  RecurrentShape s{};
  s.cell = cell, s.gates = cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4;
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape, &r = call.inputs[2].shape;
  s.batchFirst = intAttr(call, "layout", 0) == 1;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3)
    failCall(call, "X, W and R must have rank 3");
  s.steps = x[s.batchFirst ? 1 : 0], s.batch = x[s.batchFirst ? 0 : 1], s.inputs = x[2];
  s.directions = w[0], s.hidden = r[2];
  expectShape(call, call.inputs[1], {s.directions, s.gates * s.hidden, s.inputs}, "W");
  expectShape(call, call.inputs[2], {s.directions, s.gates * s.hidden, s.hidden}, "R");
  std::string direction = stringAttr(call, "direction", "forward");
  if ((direction == "bidirectional" ? 2 : 1) != s.directions)
    failCall(call, "direction {} with {} sets of weights", direction, s.directions);
  s.reverseOnly = direction == "reverse";
  s.linearBeforeReset = boolAttr(call, "linear_before_reset", false);
  s.inputForget = boolAttr(call, "input_forget", false);
  s.clip = floatAttr(call, "clip", 0);
  static const std::vector<std::string> missing[] = {
      {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  s.activations = readActivations(call, missing[static_cast<int>(cell)], s.directions);
  s.bias = inputIndex(call, 3), s.lengths = inputIndex(call, 4), s.h0 = inputIndex(call, 5);
  s.c0 = cell == Cell::Lstm ? inputIndex(call, 6) : -1,
  s.peepholes = cell == Cell::Lstm ? inputIndex(call, 7) : -1;
  s.y = outputIndex(call, 0), s.yh = outputIndex(call, 1),
  s.yc = cell == Cell::Lstm ? outputIndex(call, 2) : -1;
  return s;
}

/// S: type of the operands. State, gates and sums are of T, and Y, Y_h, Y_c rounded from it once.
template <typename S> class Recurrent final : public LibraryKernel {
  using T = Compute<S>;

public:
  Recurrent(RecurrentShape shape, int threads) : s_(std::move(shape)), threads_(threads) {
    // Of a thread: input part and recurrent part of the gates, h, c, r * h.
    rowBytes_ = alignedBytes(sizeof(T) * (2 * s_.gates + 3) * s_.hidden);
  }

  size_t workspaceBytes() const override { return rowBytes_ * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    int64_t rows = s_.batch * s_.directions;
    parallelParts(threads_, rows, [&](int64_t row) {
      sequence(in, out, row / s_.batch, row % s_.batch,
               reinterpret_cast<T *>(static_cast<char *>(workspace) + threadSlot() * rowBytes_));
    });
  }

private:
  struct Row {
    const S *w, *r, *biasW, *biasR, *peepholes;
    const Activation *activation;
    T *fromInput, *fromState, *h, *c, *resetState;
  };

  const S *source(Inputs in, int index, int64_t offset) const {
    return index < 0 ? nullptr : static_cast<const S *>(in[index]) + offset;
  }
  int64_t stateOffset(int64_t direction, int64_t b) const {
    return (s_.batchFirst ? b * s_.directions + direction : direction * s_.batch + b) * s_.hidden;
  }

  void sequence(Inputs in, Outputs out, int64_t direction, int64_t b, T *scratch) const {
    int64_t H = s_.hidden, GH = s_.gates * H;
    const S *bias = source(in, s_.bias, direction * 2 * GH);
    Row row{source(in, s_.w, direction * GH * s_.inputs),
            source(in, s_.r, direction * GH * H),
            bias,
            bias ? bias + GH : nullptr,
            source(in, s_.peepholes, direction * 3 * H),
            &s_.activations[direction * s_.activations.size() / s_.directions],
            scratch,
            scratch + GH,
            scratch + 2 * GH,
            scratch + 2 * GH + H,
            scratch + 2 * GH + 2 * H};
    const S *h0 = source(in, s_.h0, stateOffset(direction, b)),
            *c0 = source(in, s_.c0, stateOffset(direction, b));
    for (int64_t j = 0; j < H; ++j)
      row.h[j] = h0 ? static_cast<T>(h0[j]) : T(0), row.c[j] = c0 ? static_cast<T>(c0[j]) : T(0);
    int64_t length = s_.lengths < 0 ? s_.steps : static_cast<const int32_t *>(in[s_.lengths])[b];
    bool backwards = s_.reverseOnly || direction == 1;
    for (int64_t step = 0; step < s_.steps; ++step) {
      int64_t t = backwards && step < length ? length - 1 - step : step;
      if (step < length) {
        const S *x = source(in, 0, (s_.batchFirst ? b * s_.steps + t : t * s_.batch + b) * s_.inputs);
        advance(row, x);
      }
      if (s_.y >= 0) {
        int64_t place = s_.batchFirst ? (b * s_.steps + t) * s_.directions + direction
                                      : (t * s_.directions + direction) * s_.batch + b;
        S *y = static_cast<S *>(out[s_.y]) + place * H;
        for (int64_t j = 0; j < H; ++j)
          y[j] = static_cast<S>(step < length ? row.h[j] : T(0));
      }
    }
    if (s_.yh >= 0)
      std::copy_n(row.h, H, static_cast<S *>(out[s_.yh]) + stateOffset(direction, b));
    if (s_.yc >= 0)
      std::copy_n(row.c, H, static_cast<S *>(out[s_.yc]) + stateOffset(direction, b));
  }

  template <typename V>
  static void multiply(const S *matrix, const V *vector, const S *bias, int64_t rows, int64_t columns,
                       T *result) {
    for (int64_t i = 0; i < rows; ++i) {
      T sum = bias ? static_cast<T>(bias[i]) : T(0);
      for (int64_t k = 0; k < columns; ++k)
        sum += static_cast<T>(matrix[i * columns + k]) * static_cast<T>(vector[k]);
      result[i] = sum;
    }
  }

  double clip(double x) const { return s_.clip > 0 ? std::clamp(x, -s_.clip, s_.clip) : x; }

  void advance(const Row &row, const S *x) const {
    multiply(row.w, x, row.biasW, s_.gates * s_.hidden, s_.inputs, row.fromInput);
    multiply(row.r, row.h, row.biasR, s_.gates * s_.hidden, s_.hidden, row.fromState);
    if (s_.cell == Cell::Rnn)
      for (int64_t j = 0; j < s_.hidden; ++j)
        row.h[j] = static_cast<T>(row.activation[0](clip(row.fromInput[j] + row.fromState[j])));
    else if (s_.cell == Cell::Gru)
      advanceGru(row);
    else
      advanceLstm(row);
  }

  /// Gates z, r, h.
  void advanceGru(const Row &row) const {
    int64_t H = s_.hidden;
    auto gate = [&](int64_t g, int64_t j) {
      return row.activation[0](clip(row.fromInput[g * H + j] + row.fromState[g * H + j]));
    };
    for (int64_t j = 0; j < H; ++j)
      row.resetState[j] = static_cast<T>(gate(1, j)) * row.h[j];
    if (!s_.linearBeforeReset)
      multiply(row.r + 2 * H * H, row.resetState, row.biasR ? row.biasR + 2 * H : nullptr, H, H,
               row.fromState + 2 * H);
    for (int64_t j = 0; j < H; ++j) {
      double z = gate(0, j), state = row.fromState[2 * H + j] * (s_.linearBeforeReset ? gate(1, j) : 1);
      double candidate = row.activation[1](clip(row.fromInput[2 * H + j] + state));
      row.h[j] = static_cast<T>((1 - z) * candidate + z * row.h[j]);
    }
  }

  /// Gates i, o, f, c; peepholes i, o, f.
  void advanceLstm(const Row &row) const {
    int64_t H = s_.hidden;
    const S *weights = row.peepholes;
    auto p = [&](int64_t place) { return static_cast<T>(weights[place]); };
    for (int64_t j = 0; j < H; ++j) {
      auto sum = [&](int64_t g) {
        return static_cast<double>(row.fromInput[g * H + j] + row.fromState[g * H + j]);
      };
      double i = row.activation[0](clip(sum(0) + (weights ? p(j) * row.c[j] : 0)));
      double f =
          s_.inputForget ? 1 - i : row.activation[0](clip(sum(2) + (weights ? p(2 * H + j) * row.c[j] : 0)));
      double c = f * row.c[j] + i * row.activation[1](clip(sum(3)));
      double o = row.activation[0](clip(sum(1) + (weights ? p(H + j) * c : 0)));
      row.c[j] = static_cast<T>(c);
      row.h[j] = static_cast<T>(o * row.activation[2](c));
    }
  }

  RecurrentShape s_;
  int threads_;
  size_t rowBytes_;
};

template <Cell cell> std::unique_ptr<LibraryKernel> makeRecurrent(const LibraryCall &call, int threads) {
  RecurrentShape shape = readRecurrent(call, cell);
  return dispatchFloat(call, call.inputs[0].type,
                       [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
                         return std::make_unique<Recurrent<S>>(std::move(shape), threads);
                       });
}

} // namespace

KEDGE_REGISTER(Recurrent) {
  registerKernel("onnx.RNN", makeRecurrent<Cell::Rnn>);
  registerKernel("onnx.GRU", makeRecurrent<Cell::Gru>);
  registerKernel("onnx.LSTM", makeRecurrent<Cell::Lstm>);
}

} // namespace kedge::rt::cpu
