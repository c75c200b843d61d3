// onnx.GridSample and its gradients over any number of spatial dims: each output point is a product of taps
// along the dims.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include <array>
#include <cmath>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;
enum class Mode { Nearest, Linear, Cubic };
enum class Padding { Zeros, Border, Reflection };

struct Tap {
  int64_t index = 0;
  double weight = 0; ///< 0 beyond the edge with Padding::Zeros
  double slope = 0;  ///< of the weight, by the grid's coordinate; 0 there too
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
  double reflect(double x, int64_t size, double &slope) const;
  Tap tapAt(double position, int64_t size, double weight, double slope) const;
};

/// Turns `slope` with x.
double Sampling::reflect(double x, int64_t size, double &slope) const {
  double low = alignCorners ? 0 : -0.5, high = alignCorners ? size - 1 : size - 0.5;
  double span = high - low;
  if (span <= 0) {
    slope = 0;
    return 0;
  }
  double distance = std::fmod(std::fabs(x - low), 2 * span);
  bool back = distance > span;
  if ((x < low) != back)
    slope = -slope;
  return low + (back ? 2 * span - distance : distance);
}

Tap Sampling::tapAt(double position, int64_t size, double weight, double slope) const {
  double ignored = 1;
  if (padding == Padding::Reflection && (position < 0 || position > size - 1))
    position = reflect(position, size, ignored);
  bool inside = position >= 0 && position <= size - 1;
  if (!inside && padding == Padding::Zeros)
    return {};
  return {static_cast<int64_t>(std::fmin(std::fmax(position, 0), size - 1)), weight, slope};
}

/// The Keys kernel with a = -0.75, as ONNX's cubic modes use it.
double cubicWeight(double distance) {
  const double a = -0.75;
  distance = std::fabs(distance);
  if (distance <= 1)
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

double cubicSlope(double distance) {
  const double a = -0.75;
  double sign = distance < 0 ? -1 : 1;
  distance = std::fabs(distance);
  if (distance <= 1)
    return sign * (3 * (a + 2) * distance - 2 * (a + 3)) * distance;
  return sign * ((3 * a * distance - 10 * a) * distance + 8 * a);
}

Taps Sampling::taps(double coordinate, int64_t size) const {
  double slope = (alignCorners ? size - 1 : size) / 2.0;
  double x = alignCorners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  if (mode == Mode::Nearest)
    x = std::nearbyint(x);
  if (mode == Mode::Cubic) {
    // Each tap is brought inside by itself: the kernel reaches beyond a border.
  } else if (padding == Padding::Border) {
    slope = x <= 0 || x >= size - 1 ? 0 : slope;
    x = std::fmin(std::fmax(x, 0), size - 1);
  } else if (padding == Padding::Reflection) {
    x = reflect(x, size, slope);
  }
  if (!std::isfinite(x))
    x = -4; // outside
  Taps result;
  double base = std::floor(x), part = x - base;
  if (mode == Mode::Nearest)
    result[0] = tapAt(x, size, 1, 0);
  else if (mode == Mode::Linear)
    result = {tapAt(base, size, 1 - part, -slope), tapAt(base + 1, size, part, slope)};
  else
    for (int k = 0; k < 4; ++k)
      result[k] = tapAt(base + k - 1, size, cubicWeight(part - (k - 1)), slope * cubicSlope(part - (k - 1)));
  return result;
}

/// The taps of a point: visit(element, weight) for each that counts. Along dim `derived` slopes take the
/// place of weights.
struct Point {
  const Shape &spatial;
  PointTaps taps{};
  size_t count;

  template <typename Visit>
  void each(Visit &&visit, size_t derived = maxRank, size_t dim = 0, int64_t start = 0,
            double weight = 1) const {
    if (dim >= maxRank || dim == spatial.size())
      return visit(start, weight);
    for (size_t k = 0; k < count; ++k) {
      const Tap &tap = taps[dim][k];
      if (double factor = dim == derived ? tap.slope : tap.weight; factor != 0)
        each(visit, derived, dim + 1, start * spatial[dim] + tap.index, weight * factor);
    }
  }

  template <typename T> double sample(const T *x, size_t derived = maxRank) const {
    double sum = 0;
    each([&](int64_t element, double weight) { sum += weight * static_cast<double>(x[element]); }, derived);
    return sum;
  }
};

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

/// Shapes of a call on an image and a grid.
struct Images {
  Shape spatial;
  int64_t batch, channels, points = 1, elements = 1; ///< points and elements of an image's channel
  Sampling sampling;

  size_t rank() const { return spatial.size(); }
  /// The grid's last dim counts from the innermost spatial dim outwards.
  template <typename G> Point pointAt(const void *grid, int64_t number) const {
    Point point{spatial, {}, sampling.tapCount()};
    const G *at = static_cast<const G *>(grid) + number * static_cast<int64_t>(rank());
    for (size_t d = 0; d < rank(); ++d)
      point.taps[d] = sampling.taps(static_cast<double>(at[rank() - 1 - d]), spatial[d]);
    return point;
  }
};

Images imagesOf(const LibraryCall &call, const TensorDesc &x, const TensorDesc &grid) {
  size_t rank = x.shape.size() - 2;
  if (x.shape.size() < 3 || grid.shape.size() != rank + 2 || grid.shape.back() != static_cast<int64_t>(rank))
    failCall(call, "expected X [N, C, D1..Dr] and a grid [N, E1..Er, r]");
  if (rank > maxRank)
    failCall(call, "more than 6 spatial dims");
  Images images{{x.shape.begin() + 2, x.shape.end()}, x.shape[0], x.shape[1], 1, 1, samplingOf(call)};
  for (size_t d = 0; d < rank; ++d) {
    images.points *= grid.shape[d + 1];
    images.elements *= images.spatial[d];
  }
  if (images.elements == 0 && images.points > 0)
    failCall(call, "X has no elements to sample");
  return images;
}

Pointer makeGridSample(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &x = call.inputs[0], &grid = call.inputs[1];
  expectSameType(call, x, call.outputs[0]);
  Images images = imagesOf(call, x, grid);
  return dispatchNumber(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return dispatchFloat(call, grid.type, [&]<typename G>(TypeTag<G>) -> Pointer {
      return closure([=](Inputs in, Outputs out, void *) {
        int64_t grain = grainFor(images.channels * static_cast<int64_t>(sizeof(T)));
        parallelFor(threads, images.batch * images.points, grain, [&](int64_t begin, int64_t end) {
          for (int64_t number = begin; number < end; ++number) {
            Point point = images.pointAt<G>(in[1], number);
            int64_t image = number / images.points * images.channels;
            for (int64_t c = 0; c < images.channels; ++c)
              static_cast<T *>(out[0])[(image + c) * images.points + number % images.points] =
                  static_cast<T>(point.sample(static_cast<const T *>(in[0]) + (image + c) * images.elements));
          }
        });
      });
    });
  });
}

/// dX: each channel of an image by one thread, which sums its points in their order.
template <typename T, typename G>
void gradientOfImages(const Images &images, const T *dY, const void *grid, T *dX, double *sums, int threads) {
  parallelParts(threads, images.batch * images.channels, [&](int64_t channel) {
    double *sum = sums + threadSlot() * images.elements;
    std::fill_n(sum, images.elements, 0.0);
    for (int64_t k = 0; k < images.points; ++k) {
      double gradient = static_cast<double>(dY[channel * images.points + k]);
      images.pointAt<G>(grid, channel / images.channels * images.points + k)
          .each([&](int64_t element, double weight) { sum[element] += weight * gradient; });
    }
    std::transform(sum, sum + images.elements, dX + channel * images.elements,
                   [](double value) { return static_cast<T>(value); });
  });
}

template <typename T, typename G>
void gradientOfGrid(const Images &images, const T *dY, const T *x, const void *grid, G *dGrid, int threads) {
  parallelFor(threads, images.batch * images.points, 64, [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      Point point = images.pointAt<G>(grid, number);
      int64_t image = number / images.points * images.channels;
      for (size_t d = 0; d < images.rank(); ++d) {
        double sum = 0;
        for (int64_t c = 0; c < images.channels; ++c)
          sum += static_cast<double>(dY[(image + c) * images.points + number % images.points]) *
                 point.sample(x + (image + c) * images.elements, d);
        dGrid[number * static_cast<int64_t>(images.rank()) + static_cast<int64_t>(images.rank() - 1 - d)] =
            static_cast<G>(sum);
      }
    }
  });
}

Pointer makeGridSampleGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 3, 3, 2, 2);
  const TensorDesc &dY = call.inputs[0], &x = call.inputs[1], &grid = call.inputs[2];
  expectSameType(call, dY, x);
  Images images = imagesOf(call, x, grid);
  return dispatchFloat(call, x.type, [&]<typename T>(TypeTag<T>) -> Pointer {
    return dispatchFloat(call, grid.type, [&]<typename G>(TypeTag<G>) -> Pointer {
      size_t workspace = alignedBytes(sizeof(double) * images.elements * threads);
      return closure(workspace, [=](Inputs in, Outputs out, void *sums) {
        const T *gradient = static_cast<const T *>(in[0]);
        gradientOfImages<T, G>(images, gradient, in[2], static_cast<T *>(out[0]), static_cast<double *>(sums),
                               threads);
        gradientOfGrid<T, G>(images, gradient, static_cast<const T *>(in[1]), in[2], static_cast<G *>(out[1]),
                             threads);
      });
    });
  });
}

} // namespace

KEDGE_REGISTER(GridSample) {
  registerKernel("onnx.GridSample", makeGridSample);
  registerKernel("train.grid_sample_grad", makeGridSampleGrad);
}

} // namespace kedge::rt::cpu
