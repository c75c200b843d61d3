// onnx.Pad in all modes, and its gradient.
#include "runtime/calls/Padding.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/movement/StridedCopy.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

/// The part that both tensors share.
StridedCopy commonPart(const Padding &padding, const Shape &inner, const Shape &padded, bool toPadded,
                       DType type, int threads) {
  Shape innerStrides = rowMajorStrides(inner), paddedStrides = rowMajorStrides(padded);
  std::vector<CopyDim> dims;
  int64_t innerOffset = 0, paddedOffset = 0;
  for (size_t d = 0; d < inner.size(); ++d) {
    int64_t first = std::max<int64_t>(0, -padding.begins[d]); // of inner, after cropping
    int64_t last = std::min(inner[d], padded[d] - padding.begins[d]);
    innerOffset += first * innerStrides[d];
    paddedOffset += (first + padding.begins[d]) * paddedStrides[d];
    int64_t size = std::max<int64_t>(0, last - first);
    dims.push_back(toPadded ? CopyDim{size, innerStrides[d], paddedStrides[d]}
                            : CopyDim{size, paddedStrides[d], innerStrides[d]});
  }
  return StridedCopy(std::move(dims), toPadded ? innerOffset : paddedOffset,
                     toPadded ? paddedOffset : innerOffset, type, threads);
}

template <typename T> T constantOf(const LibraryCall &call) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(floatAttr(call, "value", 0)));
  else
    return static_cast<T>(static_cast<Compute<T>>(floatAttr(call, "value", 0)));
}

template <typename T> void fill(void *memory, int64_t count, T value, int threads) {
  T *out = static_cast<T *>(memory);
  parallelFor(threads, count, grainFor(sizeof(T)),
              [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
}

std::unique_ptr<LibraryKernel> makeConstantPad(const LibraryCall &call, const Padding &padding, int threads) {
  const TensorDesc &in = call.inputs[0], &out = call.outputs[0];
  StridedCopy copy = commonPart(padding, in.shape, out.shape, true, in.type, threads);
  int64_t count = out.elements();
  int operand = inputIndex(call, 1);
  auto make = [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure([=, value = constantOf<T>(call)](Inputs inputs, Outputs outputs, void *) {
      fill<T>(outputs[0], count, operand < 0 ? value : *static_cast<const T *>(inputs[operand]), threads);
      copy.run(inputs[0], outputs[0]);
    });
  };
  return in.type == DType::Bool ? make(TypeTag<uint8_t>{}) : dispatchNumber(call, in.type, make);
}

/// Walks rows of `shape`: f(first element, source offset of the row), the row's index tables but the last.
template <typename F>
void forRows(const Shape &shape, const std::vector<Shape> &tables, const Shape &sourceStrides, int64_t begin,
             int64_t end, F &&f) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, source = 0;
    for (size_t d = shape.size() - 1; d-- > 0; rest /= shape[d])
      source += tables[d][rest % shape[d]] * sourceStrides[d];
    f(row, source);
  }
}

std::unique_ptr<LibraryKernel> makePad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 2, 1, 1);
  const TensorDesc &in = call.inputs[0], &out = call.outputs[0];
  expectSameType(call, in, out);
  Padding padding = readPadding(call, in, out);
  if (padding.mode == "constant" || in.shape.empty())
    return makeConstantPad(call, padding, threads);
  std::vector<Shape> tables = sourceTables(call, padding, in.shape, out.shape);
  Shape strides = rowMajorStrides(in.shape), shape = out.shape;
  int64_t rows = product(shape, 0, shape.size() - 1), columns = shape.back();
  return dispatchSize(in.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure([=](Inputs inputs, Outputs outputs, void *) {
      const T *x = static_cast<const T *>(inputs[0]);
      T *y = static_cast<T *>(outputs[0]);
      const Shape &last = tables.back();
      parallelFor(threads, rows, grainFor(columns * sizeof(T)), [&](int64_t begin, int64_t end) {
        forRows(shape, tables, strides, begin, end, [&](int64_t row, int64_t source) {
          for (int64_t j = 0; j < columns; ++j)
            y[row * columns + j] = x[source + last[j]];
        });
      });
    });
  });
}

/// The padded places that stand for each place of one dimension.
struct Stands {
  std::vector<int64_t> start, places;
};

Stands invert(const Shape &table, int64_t size) {
  Stands stands;
  for (int64_t i = 0; i < size; ++i) {
    stands.start.push_back(static_cast<int64_t>(stands.places.size()));
    for (size_t place = 0; place < table.size(); ++place)
      if (table[place] == i)
        stands.places.push_back(static_cast<int64_t>(place));
  }
  stands.start.push_back(static_cast<int64_t>(stands.places.size()));
  return stands;
}

/// Sum of dY over the product of the places of every dimension.
template <typename T>
Compute<T> sumStands(const std::vector<Stands> &stands, const Shape &strides, const int64_t *index, size_t d,
                     const T *dy) {
  if (d == stands.size())
    return static_cast<Compute<T>>(*dy);
  Compute<T> sum = 0;
  for (int64_t k = stands[d].start[index[d]]; k < stands[d].start[index[d] + 1]; ++k)
    sum += sumStands<T>(stands, strides, index, d + 1, dy + stands[d].places[k] * strides[d]);
  return sum;
}

constexpr size_t kMostRank = 16;

std::unique_ptr<LibraryKernel> makePadGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  expectSameType(call, dy, dx);
  Padding padding = readPadding(call, dx, dy);
  if (dx.shape.size() > kMostRank)
    failCall(call, "rank above {} is not available", kMostRank);
  std::vector<Stands> stands;
  std::vector<Shape> tables = sourceTables(call, padding, dx.shape, dy.shape);
  for (size_t d = 0; d < tables.size(); ++d)
    stands.push_back(invert(tables[d], dx.shape[d]));
  Shape strides = rowMajorStrides(dy.shape), shape = dx.shape;
  return dispatchFloat(call, dx.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure([=, count = product(shape)](Inputs inputs, Outputs outputs, void *) {
      T *out = static_cast<T *>(outputs[0]);
      parallelFor(threads, count, 4096, [&](int64_t begin, int64_t end) {
        for (int64_t flat = begin; flat < end; ++flat) {
          int64_t index[kMostRank], rest = flat;
          for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
            index[d] = rest % shape[d];
          out[flat] =
              static_cast<T>(sumStands<T>(stands, strides, index, 0, static_cast<const T *>(inputs[0])));
        }
      });
    });
  });
}

} // namespace

KEDGE_REGISTER(Pad) {
  registerKernel("onnx.Pad", makePad);
  registerKernel("train.pad_grad", makePadGrad);
}

} // namespace kedge::rt::cpu
