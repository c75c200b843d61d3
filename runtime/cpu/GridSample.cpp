// onnx.GridSample over any number of spatial dims: each output point is a product of taps along the dims.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include <array>
#include <cmath>

namespace kedge::rt::cpu {
namespace {

using Pointer = std::unique_ptr<LibraryKernel>;
enum class Mode { Nearest, Linear, Cubic };
enum class Padding { Zeros, Border, Reflection };

struct Tap {
  int64_t index = 0;
  double weight = 0; ///< 0 beyond the edge with Padding::Zeros
};
using Taps = std::array<Tap, 4>;
constexpr size_t maxRank = 6; // spatial dims; points need no memory of their own
using PointTaps = std::array<Taps, maxRank>;

struct Sampling {
  Mode mode;
  Padding padding;
  bool alignCorners;

  size_t tapCount() const { return mode == Mode::Nearest ? 1 : mode == Mode::Linear ? 2 : 4; }
  Taps taps(double coordinate, int64_t size) const;

private:
  double reflect(double x, int64_t size) const;
  Tap tapAt(double position, int64_t size, double weight) const;
};

double Sampling::reflect(double x, int64_t size) const {
  double low = alignCorners ? 0 : -0.5, high = alignCorners ? size - 1 : size - 0.5;
  double span = high - low;
  if (span <= 0)
    return 0;
  double distance = std::fmod(std::fabs(x - low), 2 * span);
  return low + (distance > span ? 2 * span - distance : distance);
}

Tap Sampling::tapAt(double position, int64_t size, double weight) const {
  if (padding == Padding::Reflection && (position < 0 || position > size - 1))
    position = reflect(position, size);
  bool inside = position >= 0 && position <= size - 1;
  if (!inside && padding == Padding::Zeros)
    return {};
  return {static_cast<int64_t>(std::fmin(std::fmax(position, 0), size - 1)), weight};
}

/// The Keys kernel with a = -0.75, as ONNX's cubic modes use it.
double cubicWeight(double distance) {
  const double a = -0.75;
  distance = std::fabs(distance);
  if (distance <= 1)
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

Taps Sampling::taps(double coordinate, int64_t size) const {
  double x = alignCorners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  if (mode == Mode::Nearest)
    x = std::nearbyint(x);
  if (padding == Padding::Border)
    x = std::fmin(std::fmax(x, 0), size - 1);
  else if (padding == Padding::Reflection)
    x = reflect(x, size);
  if (!std::isfinite(x))
    x = -4; // outside
  Taps result;
  double base = std::floor(x), part = x - base;
  if (mode == Mode::Nearest)
    result[0] = tapAt(x, size, 1);
  else if (mode == Mode::Linear)
    result = {tapAt(base, size, 1 - part), tapAt(base + 1, size, part)};
  else
    for (int k = 0; k < 4; ++k)
      result[k] = tapAt(base + k - 1, size, cubicWeight(part - (k - 1)));
  return result;
}

/// Sum over the taps of `dim` and those behind it; `start` counts whole slices of that dim.
template <typename T>
double sample(const T *x, const Shape &spatial, const PointTaps &taps, size_t count, size_t dim,
              int64_t start) {
  if (dim == spatial.size())
    return static_cast<double>(x[start]);
  double sum = 0;
  for (size_t k = 0; k < count; ++k)
    if (const Tap &tap = taps[dim][k]; tap.weight != 0)
      sum += tap.weight * sample(x, spatial, taps, count, dim + 1, start * spatial[dim] + tap.index);
  return sum;
}

Sampling samplingOf(const LibraryCall &call) {
  std::string mode = call.attrs.value("mode", "linear"), padding = call.attrs.value("padding_mode", "zeros");
  Sampling sampling{mode == "nearest"         ? Mode::Nearest
                    : mode.ends_with("cubic") ? Mode::Cubic
                                              : Mode::Linear,
                    padding == "border"       ? Padding::Border
                    : padding == "reflection" ? Padding::Reflection
                                              : Padding::Zeros,
                    boolAttr(call, "align_corners", false)};
  return sampling;
}

Pointer makeGridSample(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &x = call.inputs[0], &grid = call.inputs[1], &y = call.outputs[0];
  expectSameType(call, x, y);
  size_t rank = x.shape.size() - 2;
  if (x.shape.size() < 3 || grid.shape.size() != rank + 2 || grid.shape.back() != static_cast<int64_t>(rank))
    failCall(call, "expected X [N, C, D1..Dr] and a grid [N, E1..Er, r]");
  if (rank > maxRank)
    failCall(call, "more than 6 spatial dims");
  Shape spatial(x.shape.begin() + 2, x.shape.end());
  int64_t points = 1, elements = 1, channels = x.shape[1];
  for (size_t d = 0; d < rank; ++d) {
    points *= grid.shape[d + 1];
    elements *= spatial[d];
  }
  if (elements == 0 && points > 0)
    failCall(call, "X has no elements to sample");
  Sampling sampling = samplingOf(call);
  return dispatchNumber(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return dispatchFloat(call, grid.type, [&]<typename G>(TypeTag<G>) -> Pointer {
      double tapsOfPoint = std::pow(static_cast<double>(sampling.tapCount()), static_cast<double>(rank));
      KernelWork work = irregularWork(2 * tapsOfPoint * static_cast<double>(call.outputs[0].elements()));
      return closure(work, [=, total = x.shape[0] * points](Inputs in, Outputs out, void *) {
        parallelFor(threads, total, grainFor(channels * sizeof(T)), [&](int64_t begin, int64_t end) {
          PointTaps taps;
          for (int64_t point = begin; point < end; ++point) {
            // The grid's last dim counts from the innermost spatial dim outwards.
            const G *at = static_cast<const G *>(in[1]) + point * static_cast<int64_t>(rank);
            for (size_t d = 0; d < rank; ++d)
              taps[d] = sampling.taps(static_cast<double>(at[rank - 1 - d]), spatial[d]);
            int64_t image = point / points * channels;
            for (int64_t c = 0; c < channels; ++c)
              static_cast<T *>(out[0])[(image + c) * points + point % points] =
                  static_cast<T>(sample(static_cast<const T *>(in[0]) + (image + c) * elements, spatial, taps,
                                        sampling.tapCount(), 0, 0));
          }
        });
      });
    });
  });
}

} // namespace

void registerGridSample() { registerKernel("onnx.GridSample", makeGridSample); }

} // namespace kedge::rt::cpu
