// Kernels along one axis: onnx.CumSum, ArgMax, ArgMin, Hardmax, TopK.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

/// f(line, first element's place) for all lines along the axis, shared among threads.
template <typename F> void forLines(const AxisView &view, int threads, size_t elementBytes, F &&f) {
  parallelFor(threads, view.outer * view.inner, grainFor(view.size * elementBytes),
              [&](int64_t begin, int64_t end) {
                for (int64_t line = begin; line < end; ++line)
                  f(line, line / view.inner * view.size * view.inner + line % view.inner);
              });
}

Pointer makeCumSum(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &x = call.inputs[0];
  expectSameType(call, x, call.outputs[0]);
  expectShape(call, call.outputs[0], x.shape, "the result");
  if (!hasAttr(call, "axis"))
    failCall(call, "attribute axis is missing");
  AxisView view = viewAlong(x.shape, normalAxis(call, intAttr(call, "axis", 0), x.shape.size()));
  bool exclusive = boolAttr(call, "exclusive", false), reverse = boolAttr(call, "reverse", false);
  return dispatchNumber(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return closure([=](Inputs in, Outputs out, void *) {
      forLines(view, threads, sizeof(T), [&](int64_t, int64_t first) {
        const T *from = static_cast<const T *>(in[0]) + first;
        T *to = static_cast<T *>(out[0]) + first;
        Compute<T> sum = 0;
        for (int64_t i = 0; i < view.size; ++i) {
          int64_t place = (reverse ? view.size - 1 - i : i) * view.inner;
          // Sums of whole numbers wrap. NOLINTNEXTLINE(bugprone-signed-char-misuse)
          Compute<T> value = static_cast<Compute<T>>(from[place]);
          to[place] = static_cast<T>(exclusive ? sum : sum + value);
          sum += value;
        }
      });
    });
  });
}

/// Whether a comes before b when the largest (smallest) is first; NaN comes first.
template <typename T> bool precedes(T a, T b, bool largest) {
  if (a != a || b != b)
    return a != a && b == b;
  return largest ? a > b : a < b;
}

template <typename T>
int64_t extremeOf(const T *line, int64_t size, int64_t stride, bool largest, bool takeLast) {
  int64_t best = 0;
  for (int64_t i = 1; i < size; ++i)
    if (precedes(line[i * stride], line[best * stride], largest) ||
        (takeLast && !precedes(line[best * stride], line[i * stride], largest)))
      best = i;
  return best;
}

template <bool Largest> Pointer makeArgExtreme(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &x = call.inputs[0], &y = call.outputs[0];
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), x.shape.size());
  Shape expected = x.shape;
  if (boolAttr(call, "keepdims", true))
    expected[axis] = 1;
  else
    expected.erase(expected.begin() + axis);
  expectShape(call, y, expected, "the result");
  AxisView view = viewAlong(x.shape, axis);
  if (y.type != DType::I64 || (view.size == 0 && view.outer * view.inner > 0))
    failCall(call, "expected an axis with elements and a result of i64");
  bool takeLast = boolAttr(call, "select_last_index", false);
  return dispatchNumber(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return closure([=](Inputs in, Outputs out, void *) {
      forLines(view, threads, sizeof(T), [&](int64_t line, int64_t first) {
        static_cast<int64_t *>(out[0])[line] =
            extremeOf(static_cast<const T *>(in[0]) + first, view.size, view.inner, Largest, takeLast);
      });
    });
  });
}

Pointer makeHardmax(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &x = call.inputs[0];
  expectSameType(call, x, call.outputs[0]);
  expectShape(call, call.outputs[0], x.shape, "the result");
  AxisView view = viewAlong(x.shape, normalAxis(call, intAttr(call, "axis", -1), x.shape.size()));
  return dispatchFloat(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return closure([=](Inputs in, Outputs out, void *) {
      forLines(view, threads, sizeof(T), [&](int64_t, int64_t first) {
        int64_t best = extremeOf(static_cast<const T *>(in[0]) + first, view.size, view.inner, true, false);
        for (int64_t i = 0; i < view.size; ++i)
          static_cast<T *>(out[0])[first + i * view.inner] = static_cast<T>(i == best ? 1.0f : 0.0f);
      });
    });
  });
}

Pointer makeTopK(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 2, 2);
  const TensorDesc &x = call.inputs[0], &values = call.outputs[0];
  expectSameType(call, x, values);
  int64_t axis = normalAxis(call, intAttr(call, "axis", -1), x.shape.size());
  Shape expected = x.shape;
  expected[axis] = intAttr(call, "k", values.shape[axis]);
  expectShape(call, values, expected, "the values");
  expectShape(call, call.outputs[1], expected, "the indices");
  AxisView view = viewAlong(x.shape, axis);
  int64_t k = expected[axis];
  if (k > view.size || call.outputs[1].type != DType::I64)
    failCall(call, "k is {} of {} elements; indices must be i64", k, view.size);
  bool largest = boolAttr(call, "largest", true);
  size_t orderBytes = alignedBytes(8 * view.size);
  return dispatchNumber(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return closure(orderBytes * threads, [=](Inputs in, Outputs out, void *workspace) {
      forLines(view, threads, sizeof(T) * 8, [&](int64_t line, int64_t first) {
        const T *from = static_cast<const T *>(in[0]) + first;
        int64_t *order =
            reinterpret_cast<int64_t *>(static_cast<char *>(workspace) + threadSlot() * orderBytes);
        for (int64_t i = 0; i < view.size; ++i)
          order[i] = i;
        std::partial_sort(order, order + k, order + view.size, [&](int64_t a, int64_t b) {
          T left = from[a * view.inner], right = from[b * view.inner];
          return precedes(left, right, largest) || (!precedes(right, left, largest) && a < b);
        });
        int64_t start = line / view.inner * k * view.inner + line % view.inner;
        for (int64_t i = 0; i < k; ++i) {
          static_cast<T *>(out[0])[start + i * view.inner] = from[order[i] * view.inner];
          static_cast<int64_t *>(out[1])[start + i * view.inner] = order[i];
        }
      });
    });
  });
}

} // namespace

KEDGE_REGISTER(Scan) {
  registerKernel("onnx.CumSum", makeCumSum);
  registerKernel("onnx.ArgMax", makeArgExtreme<true>);
  registerKernel("onnx.ArgMin", makeArgExtreme<false>);
  registerKernel("onnx.Hardmax", makeHardmax);
  registerKernel("onnx.TopK", makeTopK);
}

} // namespace kedge::rt::cpu
