// onnx.MaxPool and its gradient. A plane is one channel of one image; planes are shared out among the
// threads.
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/pool/PlaneGradient.h"
#include "runtime/cpu/pool/RowMaxima.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

/// The first largest element of the window, -1 for an empty one; a NaN is larger than all.
template <typename S> int64_t maximumOf(const PoolShape &p, const S *x, const PoolWindow &o) {
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

template <typename S> S lowest() {
  if constexpr (std::is_integral_v<S>)
    return std::numeric_limits<S>::lowest();
  else
    return static_cast<S>(-std::numeric_limits<Compute<S>>::infinity());
}

/// Output Indices, if the call has it.
struct Indices {
  int output;
  bool columnMajor;

  explicit Indices(const LibraryCall &call)
      : output(outputIndex(call, 1)), columnMajor(intAttr(call, "storage_order", 0) == 1) {}

  bool wanted() const { return output >= 0; }
  /// Results [first, first + count) of a plane, whose largest elements are at `best` in it; -1: empty window.
  template <typename Index>
  void write(const PoolShape &p, Outputs out, int64_t plane, int64_t first, int64_t count,
             const Index *best) const {
    int64_t *to = static_cast<int64_t *>(out[output]) + plane * p.outSize() + first;
    const int64_t base = plane * p.inSize();
    if (columnMajor)
      for (int64_t o = 0; o < count; ++o)
        to[o] = base + transposed(p, best[o]);
    else
      for (int64_t o = 0; o < count; ++o)
        to[o] = base + best[o];
  }

private:
  static int64_t transposed(const PoolShape &p, int64_t place) {
    return (place % p.in[2] * p.in[1] + place / p.in[2] % p.in[1]) * p.in[0] + place / (p.in[2] * p.in[1]);
  }
};

/// body(plane, slot) for all planes; slot: the thread's.
template <typename Body> void forPlanes(const PoolShape &p, int threads, Body &&body) {
  parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      body(plane, threadSlot());
  });
}

template <typename S> Pointer maxPoolByWindows(const PoolShape &p, Indices indices, int threads) {
  return closure([=, windows = Windows(p)](Inputs in, Outputs out, void *) {
    forPlanes(p, threads, [&](int64_t plane, int) {
      const S *x = static_cast<const S *>(in[0]) + plane * p.inSize();
      S *y = static_cast<S *>(out[0]) + plane * p.outSize();
      forWindows(windows, [&](const PoolWindow &o) {
        const int64_t best = maximumOf(p, x, o);
        y[o.number] = best < 0 ? lowest<S>() : x[best];
        if (indices.wanted())
          indices.write(p, out, plane, o.number, 1, &best);
      });
    });
  });
}

/// A row of results. Largest elements of the result's own type are found in `y` itself; of 16-bit types their
/// places are, too.
template <typename S>
void maxima(const RowMaxima<S> &rows, const S *x, const Windows::Range &d, const Windows::Range &h,
            int64_t width, bool places, S *y, typename RowMaxima<S>::Line line) {
  constexpr bool kInPlace = std::is_same_v<S, Compute<S>>;
  if constexpr (kInPlace)
    line.top = y;
  if (kInPlace && !places)
    return rows.findValues(x, d, h, line);
  rows.findPlaces(x, d, h, line);
  if constexpr (!kInPlace)
    for (int64_t o = 0; o < width; ++o)
      y[o] = line.best[o] < 0 ? lowest<S>() : x[line.best[o]];
}

template <typename S> Pointer maxPoolByRows(const PoolShape &p, Indices indices, int threads) {
  RowMaxima<S> rows(p);
  const size_t threadBytes = alignedBytes(rows.scratchBytes());
  return closure(threadBytes * threads, [=, rows = std::move(rows)](Inputs in, Outputs out, void *workspace) {
    forPlanes(p, threads, [&](int64_t plane, int slot) {
      const auto line = rows.lineIn(static_cast<char *>(workspace) + slot * threadBytes);
      const S *x = static_cast<const S *>(in[0]) + plane * p.inSize();
      S *y = static_cast<S *>(out[0]) + plane * p.outSize();
      rows.forRows([&](int64_t first, const Windows::Range &d, const Windows::Range &h) {
        maxima(rows, x, d, h, p.out[2], indices.wanted(), y + first, line);
        if (indices.wanted())
          indices.write(p, out, plane, first, p.out[2], line.best);
      });
    });
  });
}

Pointer makeMaxPool(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 2);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  const PoolShape p = readPool(call, call.inputs[0], call.outputs[0]);
  const Indices indices(call);
  if (call.inputs[0].type == DType::I8)
    return maxPoolByWindows<int8_t>(p, indices, threads);
  if (call.inputs[0].type == DType::U8)
    return maxPoolByWindows<uint8_t>(p, indices, threads);
  return dispatchFloat(call, call.inputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return p.hasRows() ? maxPoolByRows<S>(p, indices, threads) : maxPoolByWindows<S>(p, indices, threads);
  });
}

template <typename S> Pointer gradientByWindows(const PoolShape &p, int threads) {
  return planeGradient<S>(p, threads, 0,
                          [p, windows = Windows(p)](Inputs in, int64_t plane, auto *sums, char *) {
                            const S *dy = static_cast<const S *>(in[0]) + plane * p.outSize();
                            const S *x = static_cast<const S *>(in[1]) + plane * p.inSize();
                            forWindows(windows, [&](const PoolWindow &o) {
                              if (const int64_t best = maximumOf(p, x, o); best >= 0)
                                sums[best] += static_cast<Compute<S>>(dy[o.number]);
                            });
                          });
}

template <typename S> Pointer gradientByRows(const PoolShape &p, int threads) {
  RowMaxima<S> rows(p);
  const size_t bytes = rows.scratchBytes();
  return planeGradient<S>(
      p, threads, bytes, [p, rows = std::move(rows)](Inputs in, int64_t plane, auto *sums, char *scratch) {
        const auto line = rows.lineIn(scratch);
        const S *dy = static_cast<const S *>(in[0]) + plane * p.outSize();
        const S *x = static_cast<const S *>(in[1]) + plane * p.inSize();
        rows.forRows([&](int64_t first, const Windows::Range &d, const Windows::Range &h) {
          rows.findPlaces(x, d, h, line);
          for (int64_t o = 0; o < p.out[2]; ++o)
            if (line.best[o] >= 0)
              sums[line.best[o]] += static_cast<Compute<S>>(dy[first + o]);
        });
      });
}

Pointer makeMaxPoolGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectSameType(call, call.inputs[1], call.outputs[0]);
  expectShape(call, call.outputs[0], call.inputs[1].shape, "dX");
  const PoolShape p = readPool(call, call.outputs[0], call.inputs[0]);
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return p.hasRows() ? gradientByRows<S>(p, threads) : gradientByWindows<S>(p, threads);
  });
}

} // namespace

KEDGE_REGISTER(MaxPool) {
  registerKernel("onnx.MaxPool", makeMaxPool);
  registerKernel("train.max_pool_grad", makeMaxPoolGrad);
}

} // namespace kedge::rt::cpu
