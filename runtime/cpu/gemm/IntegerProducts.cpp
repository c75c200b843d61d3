// onnx.MatMulInteger, QLinearMatMul, ConvInteger: products of 8-bit integers, forward only.
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/Product.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/IntegerBlock.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

struct IntegerRange {
  double low, high;
  double clamp(double value) const { return std::clamp(value, low, high); }
};

IntegerRange integerRange(const LibraryCall &call, DType type) {
  if (type != DType::U8 && type != DType::I8)
    failCall(call, "a quantised {} is not available", dtypeName(type));
  return type == DType::U8 ? IntegerRange{0, 255} : IntegerRange{-128, 127};
}

/// An integer or a scale for each row or column, or one for all.
struct PerLine {
  int index = -1; ///< among the inputs; -1: `missing`
  DType type = DType::I8;
  bool one = true;

  double at(Inputs in, int64_t line, double missing = 0) const {
    return index < 0 ? missing : loadAsDouble(type, in[index], one ? 0 : line);
  }
};

PerLine perLine(const LibraryCall &call, int index, int64_t lines) {
  if (index < 0)
    return {};
  const TensorDesc &tensor = call.inputs[index];
  if (tensor.elements() != 1 && tensor.elements() != lines)
    failCall(call, "a zero point or scale has {} elements, expected 1 or {}", tensor.elements(), lines);
  return {index, tensor.type, tensor.elements() == 1};
}

/// The same call as a plain product or convolution of two operands.
LibraryCall plainCall(const LibraryCall &call, const TensorDesc &a, const TensorDesc &b) {
  return {call.name, call.attrs, {a, b}, call.outputs};
}

/// Turns the 32-bit sum of row i and column j into the result.
struct Rescale {
  PerLine scaleA, scaleB, scaleY, zeroY;
  IntegerRange range{0, 0};
  DType type = DType::I32;

  void store(Inputs in, void *y, int64_t place, int32_t sum, int64_t i, int64_t j) const {
    if (type == DType::I32) {
      static_cast<int32_t *>(y)[place] = sum;
      return;
    }
    double factor = scaleA.at(in, i) * scaleB.at(in, j) / scaleY.at(in, 0);
    storeDouble(type, y, place, range.clamp(std::nearbyint(sum * factor) + zeroY.at(in, 0)));
  }
};

Pointer integerMatMul(const LibraryCall &call, int b, PerLine zeroA, PerLine zeroB, const Product &p,
                      Rescale rescale, int threads) {
  const DType typeA = call.inputs[0].type, typeB = call.inputs[b].type;
  integerRange(call, typeA), integerRange(call, typeB);
  const int64_t blocks = (p.m + IntegerBlock::kRows - 1) / IntegerBlock::kRows;
  return closure([=](Inputs in, Outputs out, void *) {
    const auto bytes = [&](int index) { return static_cast<const uint8_t *>(in[index]); };
    parallelFor(threads, p.batches() * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t batch = at / blocks, first = at % blocks * IntegerBlock::kRows;
        const int64_t rows = std::min(IntegerBlock::kRows, p.m - first);
        IntegerBlock block({bytes(0) + p.offsetA(batch), typeA, p.k},
                           {bytes(b) + p.offsetB(batch), typeB, p.n}, p.k);
        for (int64_t column = 0; column < p.n; column += kIntegerColumns) {
          const int64_t columns = std::min<int64_t>(kIntegerColumns, p.n - column);
          block.multiply(first, rows, column, columns);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              const int64_t row = first + i, line = column + j;
              const auto zero = [&](const PerLine &of, int64_t place) {
                return static_cast<int64_t>(of.at(in, place));
              };
              rescale.store(in, out[0], (batch * p.m + row) * p.n + line,
                            block.sum(i, j, zero(zeroA, row), zero(zeroB, line)), row, line);
            }
        }
      }
    });
  });
}

Pointer makeMatMulInteger(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 4, 1, 1);
  Product p = readMatMul(plainCall(call, call.inputs[0], call.inputs[1]));
  return integerMatMul(call, 1, perLine(call, inputIndex(call, 2), p.m),
                       perLine(call, inputIndex(call, 3), p.n), p, {}, threads);
}

Pointer makeQLinearMatMul(const LibraryCall &call, int threads) {
  expectCounts(call, 8, 8, 1, 1);
  Product p = readMatMul(plainCall(call, call.inputs[0], call.inputs[3]));
  Rescale rescale{perLine(call, 1, p.m),
                  perLine(call, 4, p.n),
                  perLine(call, 6, 1),
                  perLine(call, 7, 1),
                  integerRange(call, call.outputs[0].type),
                  call.outputs[0].type};
  return integerMatMul(call, 3, perLine(call, 2, p.m), perLine(call, 5, p.n), p, rescale, threads);
}

/// Sum over the taps of output position `o` of one filter.
int64_t tapSum(const ConvShape &c, DType typeX, const void *x, int64_t zeroX, DType typeW, const void *w,
               int64_t zeroW, int64_t image, int64_t filter, int64_t o) {
  int64_t place[3] = {o / (c.out[1] * c.out[2]), o / c.out[2] % c.out[1], o % c.out[2]}, sum = 0;
  int64_t firstChannel = filter / c.groupFilters() * c.groupChannels();
  for (int64_t channel = 0; channel < c.groupChannels(); ++channel)
    for (int64_t tap = 0; tap < c.taps(); ++tap) {
      int64_t t[3] = {tap / (c.kernel[1] * c.kernel[2]), tap / c.kernel[2] % c.kernel[1], tap % c.kernel[2]},
              at[3];
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        at[d] = place[d] * c.stride[d] + t[d] * c.dilation[d] - c.pad[d];
        inside &= at[d] >= 0 && at[d] < c.in[d];
      }
      if (!inside)
        continue;
      int64_t plane = (image * c.channels + firstChannel + channel) * c.inSize();
      sum += (loadAsInt(typeX, x, plane + (at[0] * c.in[1] + at[1]) * c.in[2] + at[2]) - zeroX) *
             (loadAsInt(typeW, w, (filter * c.groupChannels() + channel) * c.taps() + tap) - zeroW);
    }
  return sum;
}

Pointer integerConv(const LibraryCall &call, int w, int bias, PerLine zeroX, PerLine zeroW,
                    const ConvShape &c, Rescale rescale, int threads) {
  DType typeX = call.inputs[0].type, typeW = call.inputs[w].type;
  return closure([=](Inputs in, Outputs out, void *) {
    parallelFor(threads, c.batch * c.filters, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        for (int64_t o = 0; o < c.outSize(); ++o) {
          int64_t filter = plane % c.filters;
          int64_t sum = tapSum(c, typeX, in[0], static_cast<int64_t>(zeroX.at(in, 0)), typeW, in[w],
                               static_cast<int64_t>(zeroW.at(in, filter)), plane / c.filters, filter, o);
          sum += bias < 0 ? 0 : static_cast<const int32_t *>(in[bias])[filter];
          rescale.store(in, out[0], plane * c.outSize() + o, static_cast<int32_t>(sum), 0, filter);
        }
    });
  });
}

Pointer makeConvInteger(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 4, 1, 1);
  ConvShape c = readConv(call, call.inputs[0], call.inputs[1], call.outputs[0]);
  return integerConv(call, 1, -1, perLine(call, inputIndex(call, 2), 1),
                     perLine(call, inputIndex(call, 3), c.filters), c, {}, threads);
}

} // namespace

void registerIntegerProducts() {
  registerKernel("onnx.MatMulInteger", makeMatMulInteger);
  registerKernel("onnx.QLinearMatMul", makeQLinearMatMul);
  registerKernel("onnx.ConvInteger", makeConvInteger);
}

} // namespace kedge::rt::cpu
