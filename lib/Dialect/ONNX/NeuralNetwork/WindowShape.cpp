#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace kedge;

namespace {
LogicalResult checkWindow(std::optional<Location> loc, size_t spatial, const Window &window) {
  auto fits = [&](ArrayRef<int64_t> values, size_t size) { return values.size() == size; };
  if (spatial == 0 || !fits(window.kernel, spatial) || !fits(window.strides, spatial) ||
      !fits(window.dilations, spatial) || !fits(window.pads, 2 * spatial))
    return emitOptionalError(loc, "kernel, strides and dilations need one entry for each of ", spatial,
                             " spatial dims and pads two");
  for (size_t i = 0; i < spatial; ++i)
    if (window.kernel[i] <= 0 || window.strides[i] <= 0 || window.dilations[i] <= 0)
      return emitOptionalError(loc, "kernel, strides and dilations must be positive");
  return success();
}

int64_t extent(const Window &window, size_t i) { return (window.kernel[i] - 1) * window.dilations[i] + 1; }

LogicalResult checkWeights(std::optional<Location> loc, Value x, Value w, int64_t group, int64_t channelDim) {
  ArrayRef<int64_t> xs = shapeOf(x), ws = shapeOf(w);
  if (xs.size() < 3 || ws.size() != xs.size())
    return emitOptionalError(loc, "convolution needs X [N, C, spatial] and W of the same rank, found ",
                             x.getType(), " and ", w.getType());
  bool inputs = channelDim == 1 ? ws[1] * group == xs[1] : ws[0] == xs[1];
  if (group <= 0 || !inputs || ws[0] % group != 0)
    return emitOptionalError(loc, "W ", w.getType(), " does not fit X ", x.getType(), " in ", group,
                             " groups");
  return success();
}
} // namespace

FailureOr<SmallVector<int64_t>> kedge::windowPlaces(std::optional<Location> loc, ArrayRef<int64_t> input,
                                                    const Window &window, bool ceilMode) {
  if (failed(checkWindow(loc, input.size(), window)))
    return failure();
  SmallVector<int64_t> places;
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t begin = window.pads[i], end = window.pads[i + input.size()], stride = window.strides[i];
    int64_t room = input[i] + begin + end - extent(window, i);
    int64_t count = room < 0 ? 0 : (room + (ceilMode ? stride - 1 : 0)) / stride + 1;
    if (ceilMode && count > 0 && (count - 1) * stride >= input[i] + begin)
      --count;
    if (count <= 0)
      return emitOptionalError(loc, "a window of ", extent(window, i), " does not fit into spatial dim ", i,
                               " of size ", input[i], " with pads ", begin, " and ", end);
    places.push_back(count);
  }
  return places;
}

FailureOr<SmallVector<int64_t>> kedge::convolutionShape(std::optional<Location> loc, Value x, Value w,
                                                        Window window, int64_t group) {
  if (failed(checkWeights(loc, x, w, group, 1)))
    return failure();
  window.kernel = shapeOf(w).drop_front(2);
  auto places = windowPlaces(loc, shapeOf(x).drop_front(2), window);
  if (failed(places))
    return failure();
  SmallVector<int64_t> shape = {shapeOf(x)[0], shapeOf(w)[0]};
  shape.append(*places);
  return shape;
}

FailureOr<SmallVector<int64_t>> kedge::transposedShape(std::optional<Location> loc, Value x, Value w,
                                                       Window window, ArrayRef<int64_t> outputPadding,
                                                       int64_t group) {
  if (failed(checkWeights(loc, x, w, group, 0)))
    return failure();
  window.kernel = shapeOf(w).drop_front(2);
  ArrayRef<int64_t> input = shapeOf(x).drop_front(2);
  if (failed(checkWindow(loc, input.size(), window)))
    return failure();
  if (outputPadding.size() != input.size())
    return emitOptionalError(loc, "output_padding needs one entry for each of ", input.size(),
                             " spatial dims");
  SmallVector<int64_t> shape = {shapeOf(x)[0], shapeOf(w)[1] * group};
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t size = (input[i] - 1) * window.strides[i] + extent(window, i) - window.pads[i] -
                   window.pads[i + input.size()] + outputPadding[i];
    if (size <= 0)
      return emitOptionalError(loc, "pads leave nothing of spatial dim ", i);
    shape.push_back(size);
  }
  return shape;
}

SmallVector<int64_t> kedge::resolveAutoPad(StringRef autoPad, ArrayRef<int64_t> input, const Window &window) {
  SmallVector<int64_t> pads(2 * input.size(), 0);
  if (autoPad == "VALID")
    return pads;
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t places = (input[i] + window.strides[i] - 1) / window.strides[i];
    int64_t total = std::max<int64_t>(0, (places - 1) * window.strides[i] + extent(window, i) - input[i]);
    int64_t small = total / 2, large = total - small;
    pads[i] = autoPad == "SAME_LOWER" ? large : small;
    pads[i + input.size()] = total - pads[i];
  }
  return pads;
}
