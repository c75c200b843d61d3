#include "runtime/calls/ResizeTables.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt::calls {
namespace {

struct ResizeOptions {
  std::string mode, coordinates, nearest;
  double cubicA;
  bool excludeOutside, antialias;
};

struct AxisSizes {
  int64_t in, out;
  double scale, roiStart, roiEnd;
};

ResizeOptions readOptions(const LibraryCall &call) {
  ResizeOptions options{stringAttr(call, "mode", "nearest"),
                        stringAttr(call, "coordinate_transformation_mode", "half_pixel"),
                        stringAttr(call, "nearest_mode", "round_prefer_floor"),
                        floatAttr(call, "cubic_coeff_a", -0.75),
                        boolAttr(call, "exclude_outside", false),
                        boolAttr(call, "antialias", false)};
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic")
    failCall(call, "mode '{}', expected nearest, linear or cubic", options.mode);
  return options;
}

/// Where output element i lies among the input's elements; ONNX's coordinate_transformation_mode. The length
/// of the result is a fraction where a scale gives one, as in the standard's reference.
double sourceCoordinate(const LibraryCall &call, const std::string &mode, const AxisSizes &a, int64_t i) {
  double x = static_cast<double>(i), width = a.scale * static_cast<double>(a.in),
         last = static_cast<double>(a.in - 1);
  if (mode == "half_pixel")
    return (x + 0.5) / a.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    double offset = static_cast<double>(a.in) / 2 * (1 - static_cast<double>(a.out) / width);
    return offset + (x + 0.5) / a.scale - 0.5;
  }
  if (mode == "pytorch_half_pixel")
    return width > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") // of opset 11 only
    return (x + 0.5) / a.scale;
  if (mode == "align_corners")
    return width == 1 ? 0 : x * last / (width - 1);
  if (mode == "asymmetric")
    return x / a.scale;
  if (mode == "tf_crop_and_resize")
    return width > 1 ? a.roiStart * last + x * (a.roiEnd - a.roiStart) * last / (width - 1)
                     : 0.5 * (a.roiStart + a.roiEnd) * last;
  failCall(call, "coordinate_transformation_mode '{}' is not known", mode);
}

/// Element 3 by a scale of 0.6 is element 5 of the source, as PyTorch and onnxruntime find in fp32: in fp64
/// the scale's rounding to fp32 would make it 4. `asymmetric` is what PyTorch's nearest becomes.
double withoutRounding(const std::string &coordinates, double x) {
  const double whole = std::round(x);
  return coordinates == "asymmetric" && std::abs(x - whole) <= 2e-7 * (std::abs(x) + 1) ? whole : x;
}

int64_t nearestIndex(const LibraryCall &call, const std::string &mode, double x) {
  if (mode == "round_prefer_floor")
    return static_cast<int64_t>(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(x + 0.5));
  if (mode == "floor" || mode == "ceil")
    return static_cast<int64_t>(mode == "floor" ? std::floor(x) : std::ceil(x));
  failCall(call, "nearest_mode '{}' is not known", mode);
}

/// Keys' cubic convolution kernel.
double cubicKernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

void appendFiltered(AxisTable &table, const ResizeOptions &o, const AxisSizes &a, double x) {
  double base = std::floor(x), ratio = x - base;
  double shrink = o.antialias ? std::min(a.scale, 1.0) : 1, support = o.mode == "linear" ? 1 : 2;
  int64_t first = static_cast<int64_t>(std::floor(-support / shrink)) + 1, count = 2 - 2 * first;
  double sum = 0;
  size_t begin = table.sources.size();
  for (int64_t i = first; i < first + count; ++i) {
    double argument = (static_cast<double>(i) - ratio) * shrink;
    double weight =
        o.mode == "linear" ? std::max(0.0, 1 - std::abs(argument)) : cubicKernel(argument, o.cubicA);
    int64_t source = static_cast<int64_t>(base) + i;
    if (o.excludeOutside && (source < 0 || source >= a.in))
      continue;
    table.sources.push_back(std::clamp<int64_t>(source, 0, a.in - 1));
    table.weights.push_back(weight);
    sum += weight;
  }
  if (o.excludeOutside || o.antialias)
    for (size_t i = begin; i < table.weights.size(); ++i)
      table.weights[i] /= sum;
}

AxisTable makeTable(const LibraryCall &call, const ResizeOptions &o, const AxisSizes &a) {
  AxisTable table;
  for (int64_t i = 0; i < a.out; ++i) {
    table.start.push_back(static_cast<int64_t>(table.sources.size()));
    double x = sourceCoordinate(call, o.coordinates, a, i);
    bool outside = o.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(a.in - 1));
    table.outside.push_back(outside);
    if (outside)
      continue;
    if (a.in == a.out && a.scale == 1 && o.coordinates != "tf_crop_and_resize") {
      table.sources.push_back(i);
      table.weights.push_back(1);
    } else if (o.mode == "nearest") {
      table.sources.push_back(
          std::clamp<int64_t>(nearestIndex(call, o.nearest, withoutRounding(o.coordinates, x)), 0, a.in - 1));
      table.weights.push_back(1);
    } else {
      appendFiltered(table, o, a, x);
    }
  }
  table.start.push_back(static_cast<int64_t>(table.sources.size()));
  return table;
}

} // namespace

std::vector<AxisTable> readResize(const LibraryCall &call, const TensorDesc &x, const TensorDesc &y) {
  size_t rank = x.shape.size();
  if (y.shape.size() != rank)
    failCall(call, "operand and result differ in rank");
  ResizeOptions options = readOptions(call);
  Shape all(rank);
  for (size_t i = 0; i < rank; ++i)
    all[i] = static_cast<int64_t>(i);
  Shape axes = intsAttr(call, "axes", all);
  std::vector<double> scales = floatsAttr(call, "scales", {}), roi = floatsAttr(call, "roi", {});
  if ((!scales.empty() && scales.size() != axes.size()) || (!roi.empty() && roi.size() != 2 * axes.size()))
    failCall(call, "scales and roi must have one and two entries an axis");
  std::vector<AxisSizes> sizes;
  for (size_t d = 0; d < rank; ++d) {
    double scale = x.shape[d] ? static_cast<double>(y.shape[d]) / static_cast<double>(x.shape[d]) : 1;
    sizes.push_back({x.shape[d], y.shape[d], scale, 0, 1});
    if (x.shape[d] == 0 && y.shape[d] != 0)
      failCall(call, "an empty dimension cannot be resized to {}", y.shape[d]);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisSizes &a = sizes[normalAxis(call, axes[i], rank)];
    if (!scales.empty())
      a.scale = scales[i];
    if (!roi.empty())
      a.roiStart = roi[i], a.roiEnd = roi[i + axes.size()];
  }
  std::vector<AxisTable> tables;
  for (const AxisSizes &a : sizes)
    tables.push_back(makeTable(call, options, a));
  return tables;
}

AxisTable transpose(const AxisTable &table, int64_t size) {
  AxisTable result;
  std::vector<std::vector<std::pair<int64_t, double>>> lists(size);
  for (int64_t i = 0; i < table.size(); ++i)
    for (int64_t k = table.start[i]; k < table.start[i + 1]; ++k)
      lists[table.sources[k]].push_back({i, table.weights[k]});
  for (const auto &list : lists) {
    result.start.push_back(static_cast<int64_t>(result.sources.size()));
    result.outside.push_back(0);
    for (auto [source, weight] : list) {
      result.sources.push_back(source);
      result.weights.push_back(weight);
    }
  }
  result.start.push_back(static_cast<int64_t>(result.sources.size()));
  return result;
}

} // namespace kedge::rt::calls
