// onnx.MatMulInteger, QLinearMatMul, ConvInteger: products of 8-bit integers, forward only.
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/ConvShape.h"
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

Pointer integerMatMul(const LibraryCall &call, int b, PerLine zeroA, PerLine zeroB, const BatchedMatmul &p,
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
        const uint8_t *const matrixB = bytes(b) + p.offsetB(batch);
        IntegerBlock block({bytes(0) + p.offsetA(batch), typeA, p.k}, typeB, p.k);
        for (int64_t column = 0; column < p.n; column += kIntegerColumns) {
          const int64_t columns = std::min<int64_t>(kIntegerColumns, p.n - column);
          block.multiply(first, rows, columns, [&](int64_t q) { return matrixB + q * p.n + column; });
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
  BatchedMatmul p = readMatMul(plainCall(call, call.inputs[0], call.inputs[1]));
  return integerMatMul(call, 1, perLine(call, inputIndex(call, 2), p.m),
                       perLine(call, inputIndex(call, 3), p.n), p, {}, threads);
}

Pointer makeQLinearMatMul(const LibraryCall &call, int threads) {
  expectCounts(call, 8, 8, 1, 1);
  BatchedMatmul p = readMatMul(plainCall(call, call.inputs[0], call.inputs[3]));
  Rescale rescale{perLine(call, 1, p.m),
                  perLine(call, 4, p.n),
                  perLine(call, 6, 1),
                  perLine(call, 7, 1),
                  integerRange(call, call.outputs[0].type),
                  call.outputs[0].type};
  return integerMatMul(call, 3, perLine(call, 2, p.m), perLine(call, 5, p.n), p, rescale, threads);
}

/// What some output positions of an image see, as columns of the matrix that filters are multiplied with.
class IntegerPatches {
public:
  /// Positions [first, first + count), count <= kIntegerColumns; `image`: the first channel that they see.
  IntegerPatches(const ConvShape &c, const uint8_t *image, uint8_t padding, int64_t first, int64_t count)
      : c_(c), image_(image), padding_(padding), count_(count) {
    for (int64_t j = 0; j < count; ++j)
      for (int64_t o = first + j, d = 2; d >= 0; o /= c.out[d--])
        corner_[j][d] = o % c.out[d] * c.stride[d] - c.pad[d];
  }

  /// Row `q` of the matrix: one tap of one channel.
  const uint8_t *row(int64_t q) {
    const int64_t tap = q % c_.taps();
    const uint8_t *channel = image_ + q / c_.taps() * c_.inSize();
    const Space t = {tap / (c_.kernel[1] * c_.kernel[2]), tap / c_.kernel[2] % c_.kernel[1],
                     tap % c_.kernel[2]};
    for (int64_t j = 0; j < count_; ++j) {
      int64_t place = 0;
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        const int64_t at = corner_[j][d] + t[d] * c_.dilation[d];
        inside &= at >= 0 && at < c_.in[d];
        place = place * c_.in[d] + at;
      }
      row_[j] = inside ? channel[place] : padding_;
    }
    return row_.data();
  }

private:
  const ConvShape &c_;
  const uint8_t *image_;
  uint8_t padding_;
  int64_t count_;
  std::array<Space, kIntegerColumns> corner_; ///< where a position's first tap is, outside too
  std::array<uint8_t, kIntegerColumns> row_;
};

/// The filters of a group, times patches.
Pointer makeConvInteger(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 4, 1, 1);
  const ConvShape c = readConv(call, call.inputs[0], call.inputs[1], call.outputs[0]);
  const DType typeX = call.inputs[0].type, typeW = call.inputs[1].type;
  integerRange(call, typeX), integerRange(call, typeW);
  const PerLine zeroX = perLine(call, inputIndex(call, 2), 1),
                zeroW = perLine(call, inputIndex(call, 3), c.filters);
  const int64_t panels = (c.outSize() + kIntegerColumns - 1) / kIntegerColumns,
                k = c.groupChannels() * c.taps();
  return closure([=](Inputs in, Outputs out, void *) {
    const auto *x = static_cast<const uint8_t *>(in[0]), *w = static_cast<const uint8_t *>(in[1]);
    const auto zeroOfX = static_cast<int64_t>(zeroX.at(in, 0));
    parallelFor(threads, c.batch * c.groups * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t image = at / panels / c.groups, group = at / panels % c.groups;
        const int64_t position = at % panels * kIntegerColumns, firstFilter = group * c.groupFilters();
        const int64_t columns = std::min<int64_t>(kIntegerColumns, c.outSize() - position);
        // A place outside the image counts as 0, which is stored as the zero point.
        IntegerPatches patches(c, x + (image * c.channels + group * c.groupChannels()) * c.inSize(),
                               static_cast<uint8_t>(zeroOfX), position, columns);
        IntegerBlock block({w + firstFilter * k, typeW, k}, typeX, k);
        for (int64_t first = 0; first < c.groupFilters(); first += IntegerBlock::kRows) {
          const int64_t rows = std::min(IntegerBlock::kRows, c.groupFilters() - first);
          block.multiply(first, rows, columns, [&](int64_t q) { return patches.row(q); });
          for (int64_t i = 0; i < rows; ++i) {
            const int64_t filter = firstFilter + first + i;
            auto *y = static_cast<int32_t *>(out[0]) + (image * c.filters + filter) * c.outSize() + position;
            const auto zeroOfW = static_cast<int64_t>(zeroW.at(in, filter));
            for (int64_t j = 0; j < columns; ++j)
              y[j] = block.sum(i, j, zeroOfW, zeroOfX);
          }
        }
      }
    });
  });
}

} // namespace

KEDGE_REGISTER(IntegerMatmuls) {
  registerKernel("onnx.MatMulInteger", makeMatMulInteger);
  registerKernel("onnx.QLinearMatMul", makeQLinearMatMul);
  registerKernel("onnx.ConvInteger", makeConvInteger);
}

} // namespace kedge::rt::cpu
