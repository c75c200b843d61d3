// onnx.MaxPool, AveragePool and their gradients. A plane is one channel of one image; planes are shared out among the threads.
#include "runtime/calls/PoolShape.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
namespace {

/// Where windows lie along each dimension, found once: a division an element costs more than its window.
struct Windows {
  struct Range {
    int64_t start, low, high; ///< the first tap's place, and the taps inside the image
    int64_t padded;           ///< number of taps inside the padded image
  };
  PoolShape p;
  std::array<std::vector<Range>, 3> axes;

  explicit Windows(const PoolShape &shape) : p(shape) {
    for (size_t i = 0; i < 3; ++i)
      for (int64_t o = 0; o < p.out[i]; ++o)
        axes[i].push_back(rangeOf(i, o));
  }

private:
  Range rangeOf(size_t i, int64_t o) const {
    const int64_t start = o * p.stride[i] - p.pad[i], step = p.dilation[i];
    const int64_t low = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t high = std::clamp<int64_t>((p.in[i] - start + step - 1) / step, low, std::max(low, p.kernel[i]));
    const int64_t padded = std::clamp<int64_t>((p.in[i] + p.padEnd[i] - start + step - 1) / step, 0, p.kernel[i]);
    return {start, low, high, padded};
  }
};

/// One result of a plane and its window.
struct Window {
  int64_t number;
  const Windows::Range &d, &h, &w;
};

/// f(window) for all results of a plane, in order.
template <typename F> void forWindows(const Windows &all, F &&f) {
  int64_t number = 0;
  for (const Windows::Range &d : all.axes[0])
    for (const Windows::Range &h : all.axes[1])
      for (const Windows::Range &w : all.axes[2])
        f(Window{number++, d, h, w});
}

/// Calls f(input place) for the taps of a window that lie inside the image; returns the number of taps inside the padded
/// image.
template <typename F> int64_t forTaps(const PoolShape &p, const Window &o, F &&f) {
  for (int64_t d = o.d.low; d < o.d.high; ++d)
    for (int64_t h = o.h.low; h < o.h.high; ++h) {
      const int64_t row = ((o.d.start + d * p.dilation[0]) * p.in[1] + o.h.start + h * p.dilation[1]) * p.in[2] + o.w.start;
      for (int64_t w = o.w.low; w < o.w.high; ++w)
        f(row + w * p.dilation[2]);
    }
  return o.d.padded * o.h.padded * o.w.padded;
}

/// The first largest element of the window, -1 for an empty one; a NaN is larger than all.
template <typename S> int64_t maximumOf(const PoolShape &p, const S *x, const Window &o) {
  using Ordered = std::conditional_t<std::is_integral_v<S>, S, Compute<S>>;
  int64_t best = -1;
  Ordered top{};
  forTaps(p, o, [&](int64_t i) {
    const Ordered value = static_cast<Ordered>(x[i]);
    if (best < 0 || value > top || (value != value && top == top))
      best = i, top = value;
  });
  return best;
}

using Pointer = std::unique_ptr<LibraryKernel>;

template <typename S> S lowest() {
  if constexpr (std::is_integral_v<S>)
    return std::numeric_limits<S>::lowest();
  else
    return static_cast<S>(-std::numeric_limits<Compute<S>>::infinity());
}

template <typename S> Pointer maxPool(const LibraryCall &call, PoolShape p, int threads) {
  int indices = outputIndex(call, 1);
  bool columnMajor = intAttr(call, "storage_order", 0) == 1;
  return closure(p.work(), [=, windows = Windows(p)](Inputs in, Outputs out, void *) {
    parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        forWindows(windows, [&](const Window &o) {
          const S *x = static_cast<const S *>(in[0]) + plane * p.inSize();
          int64_t best = maximumOf(p, x, o), result = plane * p.outSize() + o.number;
          static_cast<S *>(out[0])[result] = best < 0 ? lowest<S>() : x[best];
          if (indices < 0)
            return;
          if (columnMajor)
            best =
                (best % p.in[2] * p.in[1] + best / p.in[2] % p.in[1]) * p.in[0] + best / (p.in[2] * p.in[1]);
          static_cast<int64_t *>(out[indices])[result] = plane * p.inSize() + best;
        });
    });
  });
}

Pointer makeMaxPool(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 2);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  PoolShape p = readPool(call, call.inputs[0], call.outputs[0]);
  if (call.inputs[0].type == DType::I8)
    return maxPool<int8_t>(call, p, threads);
  if (call.inputs[0].type == DType::U8)
    return maxPool<uint8_t>(call, p, threads);
  return dispatchFloat(call, call.inputs[0].type,
                       [&]<typename S>(TypeTag<S>) -> Pointer { return maxPool<S>(call, p, threads); });
}

/// Adds up a plane of dX in the thread's scratch: spread(plane, sums) does it; then rounds once.
template <typename S, typename Spread> Pointer planeGradient(const PoolShape &p, int threads, Spread spread) {
  using T = Compute<S>;
  size_t planeBytes = alignedBytes(sizeof(T) * p.inSize());
  return closure(planeBytes * threads, p.work(), [=](Inputs in, Outputs out, void *workspace) {
    parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
      T *sums = reinterpret_cast<T *>(static_cast<char *>(workspace) + threadSlot() * planeBytes);
      for (int64_t plane = begin; plane < end; ++plane) {
        std::fill_n(sums, p.inSize(), T(0));
        spread(in, plane, sums);
        std::copy_n(sums, p.inSize(), static_cast<S *>(out[0]) + plane * p.inSize());
      }
    });
  });
}

Pointer makeMaxPoolGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectSameType(call, call.inputs[1], call.outputs[0]);
  expectShape(call, call.outputs[0], call.inputs[1].shape, "dX");
  PoolShape p = readPool(call, call.outputs[0], call.inputs[0]);
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return planeGradient<S>(p, threads, [p, windows = Windows(p)](Inputs in, int64_t plane, auto *sums) {
      const S *dy = static_cast<const S *>(in[0]) + plane * p.outSize();
      const S *x = static_cast<const S *>(in[1]) + plane * p.inSize();
      forWindows(windows, [&](const Window &o) {
        if (int64_t best = maximumOf(p, x, o); best >= 0)
          sums[best] += static_cast<Compute<S>>(dy[o.number]);
      });
    });
  });
}

Pointer makeAveragePool(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  PoolShape p = readPool(call, call.inputs[0], call.outputs[0]);
  bool includePad = boolAttr(call, "count_include_pad", false);
  return dispatchFloat(call, call.inputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return closure(p.work(), [=, windows = Windows(p)](Inputs in, Outputs out, void *) {
      using T = Compute<S>;
      parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane)
          forWindows(windows, [&](const Window &o) {
            const S *x = static_cast<const S *>(in[0]) + plane * p.inSize();
            T sum = 0;
            int64_t inside = 0;
            int64_t padded = forTaps(p, o, [&](int64_t i) { sum += static_cast<T>(x[i]), ++inside; });
            static_cast<S *>(out[0])[plane * p.outSize() + o.number] =
                static_cast<S>(sum / static_cast<T>(includePad ? padded : inside));
          });
      });
    });
  });
}

Pointer makeAveragePoolGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  PoolShape p = readPool(call, call.outputs[0], call.inputs[0]);
  bool includePad = boolAttr(call, "count_include_pad", false);
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return planeGradient<S>(p, threads, [p, includePad, windows = Windows(p)](Inputs in, int64_t plane, auto *sums) {
      using T = Compute<S>;
      const S *dy = static_cast<const S *>(in[0]) + plane * p.outSize();
      forWindows(windows, [&](const Window &o) {
        int64_t inside = 0;
        int64_t padded = forTaps(p, o, [&](int64_t) { ++inside; });
        T share = static_cast<T>(dy[o.number]) / static_cast<T>(includePad ? padded : inside);
        forTaps(p, o, [&](int64_t i) { sums[i] += share; });
      });
    });
  });
}

} // namespace

void registerPool() {
  registerKernel("onnx.MaxPool", makeMaxPool);
  registerKernel("train.MaxPoolGrad", makeMaxPoolGrad);
  registerKernel("onnx.AveragePool", makeAveragePool);
  registerKernel("train.AveragePoolGrad", makeAveragePoolGrad);
}

} // namespace kedge::rt::cpu
