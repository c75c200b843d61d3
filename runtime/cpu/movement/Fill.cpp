// Kernels that place values by position: onnx.OneHot, EyeLike, Trilu, Range, ReverseSequence, Compress.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/format/Convert.h"
#include <cmath>
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

/// Truncates floats to 64-bit integers; ONNX allows any number as an index of OneHot.
int64_t indexAt(DType type, const void *data, int64_t i) {
  return isFloat(type) ? static_cast<int64_t>(loadAsDouble(type, data, i)) : loadAsInt(type, data, i);
}

Pointer makeOneHot(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &indices = call.inputs[0], &y = call.outputs[0];
  expectSameType(call, call.inputs[1], y);
  int64_t axis = normalAxis(call, intAttr(call, "axis", -1), y.shape.size());
  Shape expected = indices.shape;
  expected.insert(expected.begin() + axis, intAttr(call, "depth", y.shape[axis]));
  expectShape(call, y, expected, "the result");
  AxisView view = viewAlong(y.shape, axis);
  DType type = indices.type;
  return dispatchSize(y.type, [&]<typename U>(TypeTag<U>) -> Pointer {
    return closure([=](Inputs in, Outputs out, void *) {
      const U *values = static_cast<const U *>(in[1]);
      U *result = static_cast<U *>(out[0]);
      parallelFor(threads, view.outer * view.inner, grainFor(view.size * sizeof(U)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t line = begin; line < end; ++line) {
                      U *first = result + line / view.inner * view.size * view.inner + line % view.inner;
                      int64_t hot = indexAt(type, in[0], line);
                      hot += hot < 0 ? view.size : 0;
                      for (int64_t i = 0; i < view.size; ++i)
                        first[i * view.inner] = values[i == hot];
                    }
                  });
    });
  });
}

Pointer makeEyeLike(const LibraryCall &call, int threads) {
  expectCounts(call, 0, 1, 1, 1);
  const TensorDesc &y = call.outputs[0];
  if (y.shape.size() != 2)
    failCall(call, "a matrix is expected");
  int64_t k = intAttr(call, "k", 0), rows = y.shape[0], columns = y.shape[1];
  DType type = y.type;
  return closure([=, bytes = y.bytes()](Inputs, Outputs out, void *) {
    std::memset(out[0], 0, bytes);
    for (int64_t i = 0; i < rows; ++i)
      if (i + k >= 0 && i + k < columns)
        storeDouble(type, out[0], i * columns + i + k, 1);
  });
}

Pointer makeTrilu(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const Shape &shape = call.inputs[0].shape;
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectShape(call, call.outputs[0], shape, "the result");
  if (shape.size() < 2)
    failCall(call, "a tensor of matrices is expected");
  bool upper = boolAttr(call, "upper", true);
  int64_t k = intAttr(call, "k", 0), rows = shape[shape.size() - 2], columns = shape.back();
  size_t element = dtypeSize(call.inputs[0].type);
  return closure([=, lines = product(shape, 0, shape.size() - 1)](Inputs in, Outputs out, void *) {
    parallelFor(threads, lines, grainFor(2 * columns * element), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t diagonal = std::clamp<int64_t>(line % rows + k + (upper ? 0 : 1), 0, columns);
        const char *from = static_cast<const char *>(in[0]) + line * columns * element;
        char *to = static_cast<char *>(out[0]) + line * columns * element;
        size_t kept = upper ? diagonal * element : 0, cleared = upper ? 0 : diagonal * element;
        std::memset(to + cleared, 0, upper ? kept : (columns - diagonal) * element);
        std::memcpy(to + kept, from + kept, upper ? (columns - diagonal) * element : cleared);
      }
    });
  });
}

Pointer makeRange(const LibraryCall &call, int) {
  expectCounts(call, 2, 2, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectSameType(call, call.inputs[1], call.outputs[0]);
  return dispatchNumber(call, call.outputs[0].type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return closure([count = call.outputs[0].elements()](Inputs in, Outputs out, void *) {
      using C = Compute<T>;
      // Sums of whole numbers wrap. NOLINTBEGIN(bugprone-signed-char-misuse)
      C start = static_cast<C>(*static_cast<const T *>(in[0])),
        delta = static_cast<C>(*static_cast<const T *>(in[1]));
      // NOLINTEND(bugprone-signed-char-misuse)
      for (int64_t i = 0; i < count; ++i)
        static_cast<T *>(out[0])[i] = static_cast<T>(start + static_cast<C>(i) * delta);
    });
  });
}

Pointer makeReverseSequence(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const Shape &shape = call.inputs[0].shape;
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectShape(call, call.outputs[0], shape, "the result");
  int64_t batchAxis = intAttr(call, "batch_axis", 1), timeAxis = intAttr(call, "time_axis", 0);
  if (shape.size() < 2 || batchAxis + timeAxis != 1 || batchAxis * timeAxis != 0)
    failCall(call, "batch_axis and time_axis must be 0 and 1");
  expectShape(call, call.inputs[1], {shape[batchAxis]}, "sequence_lens");
  int64_t columns = shape[1];
  size_t run = product(shape, 2, shape.size()) * dtypeSize(call.inputs[0].type);
  DType type = call.inputs[1].type;
  return closure([=, rows = shape[0]](Inputs in, Outputs out, void *) {
    parallelFor(threads, rows * columns, grainFor(2 * run), [&](int64_t begin, int64_t end) {
      for (int64_t flat = begin; flat < end; ++flat) {
        int64_t place[2] = {flat / columns, flat % columns};
        int64_t length = loadAsInt(type, in[1], place[batchAxis]), &time = place[timeAxis];
        time = time < length ? length - 1 - time : time;
        std::memcpy(static_cast<char *>(out[0]) + flat * run,
                    static_cast<const char *>(in[0]) + (place[0] * columns + place[1]) * run, run);
      }
    });
  });
}

Pointer makeCompress(const LibraryCall &call, int) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &x = call.inputs[0], &y = call.outputs[0];
  expectSameType(call, x, y);
  AxisView view{1, x.elements(), 1};
  int64_t selected = y.elements(), count = call.inputs[1].elements();
  if (hasAttr(call, "axis")) {
    int64_t axis = normalAxis(call, intAttr(call, "axis", 0), x.shape.size());
    view = viewAlong(x.shape, axis);
    selected = y.shape[axis];
  }
  if (count > view.size)
    failCall(call, "the condition has {} elements for {}", count, view.size);
  size_t run = view.inner * dtypeSize(x.type);
  return closure([=, what = describe(call)](Inputs in, Outputs out, void *) {
    const uint8_t *condition = static_cast<const uint8_t *>(in[1]);
    if (int64_t found = std::count_if(condition, condition + count, [](uint8_t c) { return c != 0; });
        found != selected)
      fail("{}: the condition selects {}, the result was compiled for {}", what, found, selected);
    char *to = static_cast<char *>(out[0]);
    for (int64_t outer = 0; outer < view.outer; ++outer)
      for (int64_t i = 0; i < count; ++i)
        if (condition[i]) {
          std::memcpy(to, static_cast<const char *>(in[0]) + (outer * view.size + i) * run, run);
          to += run;
        }
  });
}

} // namespace

KEDGE_REGISTER(Fill) {
  registerKernel("onnx.OneHot", makeOneHot);
  registerKernel("onnx.EyeLike", makeEyeLike);
  registerKernel("onnx.Trilu", makeTrilu);
  registerKernel("onnx.Range", makeRange);
  registerKernel("onnx.ReverseSequence", makeReverseSequence);
  registerKernel("onnx.Compress", makeCompress);
}

} // namespace kedge::rt::cpu
