// Resize and Upsample of all opsets, GridSample.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// What a Resize is asked to do, with entries for every dimension.
struct Resampling {
  Dims sizes;
  SmallVector<float> scales, roi; // empty: not given
  onnx::ResizeMode mode;
  onnx::ResizeCoordinates coordinates = onnx::ResizeCoordinates::HalfPixel;
  onnx::ResizeRounding rounding = onnx::ResizeRounding::PreferFloor;
};
using Floats = std::optional<SmallVector<double>>;

Floats floatsIf(NodeContext &node, size_t k, StringRef what) {
  if (!node.has(k) || elementCount(shapeOf(node.operand(k))) == 0)
    return std::nullopt;
  return node.constantFloats(k, what);
}

void setScales(NodeContext &node, Resampling &to, ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
               ArrayRef<double> scales) {
  if (scales.size() != axes.size())
    node.fail("scales has {} entries, expected {}", scales.size(), axes.size());
  to.scales.assign(shape.size(), 1.0f);
  for (auto [axis, scale] : llvm::zip(axes, scales)) {
    if (!(scale > 0))
      node.fail("scale {} of axis {} should be positive", scale, axis);
    double extent = to.coordinates == onnx::ResizeCoordinates::TfCropAndResize && !to.roi.empty()
                        ? to.roi[shape.size() + axis] - to.roi[axis]
                        : 1.0;
    to.scales[axis] = scale * extent;
    // In fp32, as ONNX's inference of shapes: 10 by 0.7 are 7.
    to.sizes[axis] = static_cast<int64_t>(std::floor(float(shape[axis]) * float(extent) * float(scale)));
  }
}

/// PyTorch aligns the corners of whole sizes, also where the file gives the scale that they come from; ONNX
/// takes the product of scale and size.
void takeWholeSizes(NodeContext &node, Resampling &to, ArrayRef<int64_t> shape) {
  if (to.coordinates != onnx::ResizeCoordinates::AlignCorners || node.producer() != "pytorch")
    return;
  for (auto [size, extent, scale] : llvm::zip(to.sizes, shape, to.scales))
    if (std::abs(double(extent) * scale - double(size)) > 1e-4)
      node.remark(
          "aligns the corners of whole sizes, as PyTorch and onnxruntime do; by ONNX's standard the size "
          "of the result would be a fraction");
  to.scales.clear();
}

void setSizes(NodeContext &node, Resampling &to, ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
              ArrayRef<int64_t> sizes) {
  if (sizes.size() != axes.size())
    node.fail("sizes has {} entries, expected {}", sizes.size(), axes.size());
  std::string policy = node.node.attrString("keep_aspect_ratio_policy", "stretch");
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size <= 0 && shape[axis] != 0)
      node.fail("size {} of axis {} should be positive", size, axis);
    to.sizes[axis] = size;
  }
  if (policy == "stretch")
    return;
  // One scale for all axes: the smallest or the largest of those asked for.
  double scale = 0;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    double asked = double(sizes[k]) / shape[axis];
    scale = k == 0 ? asked : policy == "not_larger" ? std::min(scale, asked) : std::max(scale, asked);
  }
  to.scales.assign(shape.size(), 1.0f);
  for (int64_t axis : axes) {
    to.scales[axis] = scale;
    to.sizes[axis] = static_cast<int64_t>(std::floor(scale * shape[axis] + 0.5));
  }
}

void setRoi(NodeContext &node, Resampling &to, int64_t rank, ArrayRef<int64_t> axes) {
  Floats roi =
      to.coordinates == onnx::ResizeCoordinates::TfCropAndResize ? floatsIf(node, 1, "roi") : std::nullopt;
  if (!roi)
    return;
  if (roi->size() != 2 * axes.size())
    node.fail("roi has {} entries, expected {}", roi->size(), 2 * axes.size());
  to.roi.assign(2 * rank, 0.0f);
  std::fill(to.roi.begin() + rank, to.roi.end(), 1.0f);
  for (auto [k, axis] : llvm::enumerate(axes)) {
    to.roi[axis] = (*roi)[k];
    to.roi[rank + axis] = (*roi)[axes.size() + k];
  }
}

void giveResized(NodeContext &node, const Resampling &to) {
  Value x = node.require(0);
  Builder &b = node.builder;
  bool same = ArrayRef<int64_t>(to.sizes) == shapeOf(x) && to.roi.empty() &&
              llvm::all_of(to.scales, [](float scale) { return scale == 1; });
  if (same)
    return node.setResult(0, x);
  DenseF32ArrayAttr none;
  node.setResult(0, onnx::ResizeOp::create(node.builder, node.loc, x, b.getDenseI64ArrayAttr(to.sizes),
                                           b.getStringAttr(stringifyEnum(to.mode)),
                                           b.getStringAttr(stringifyEnum(to.coordinates)),
                                           b.getStringAttr(stringifyEnum(to.rounding)),
                                           b.getF32FloatAttr(node.node.attrFloat("cubic_coeff_a", -0.75f)),
                                           b.getBoolAttr(node.node.attrBool("exclude_outside", false)),
                                           b.getF32FloatAttr(node.node.attrFloat("extrapolation_value", 0)),
                                           b.getBoolAttr(node.node.attrBool("antialias", false)),
                                           to.scales.empty() ? none : b.getDenseF32ArrayAttr(to.scales),
                                           to.roi.empty() ? none : b.getDenseF32ArrayAttr(to.roi)));
}

onnx::ResizeMode modeOf(NodeContext &node) {
  if (node.node.attrString("mode", "") == "bilinear") // before opset 9
    return onnx::ResizeMode::Linear;
  return node.word("mode", onnx::ResizeMode::Nearest);
}
} // namespace

/// Upsample, and Resize before opset 11: output place / scale, rounded down.
static void importUpsample(NodeContext &node) {
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  Resampling to{
      Dims(shape), {}, {}, modeOf(node), onnx::ResizeCoordinates::Asymmetric, onnx::ResizeRounding::Floor};
  SmallVector<double> scales;
  if (node.node.has("scales"))
    llvm::append_range(scales, node.node.attrFloats("scales"));
  else
    scales = node.constantFloats(1, "scales").value_or(scales);
  Dims axes = firstDims(shape.size());
  setScales(node, to, shape, axes, scales);
  giveResized(node, to);
}

static void importResize(NodeContext &node) {
  if (node.opset() < 11)
    return importUpsample(node);
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  Resampling to{Dims(shape), {}, {}, modeOf(node)};
  to.coordinates = node.word("coordinate_transformation_mode", to.coordinates);
  to.rounding = node.word("nearest_mode", to.rounding);
  Dims axes = firstDims(shape.size());
  if (auto given = node.node.attrIntsIf("axes")) {
    axes.clear();
    for (int64_t axis : *given)
      axes.push_back(axisOf(node, axis, shape.size()));
  }
  setRoi(node, to, shape.size(), axes);
  if (Floats scales = floatsIf(node, 2, "scales")) {
    setScales(node, to, shape, axes, *scales);
    takeWholeSizes(node, to, shape);
  } else if (auto sizes = node.constantInts(3, "sizes"))
    setSizes(node, to, shape, axes, *sizes);
  else
    node.fail("neither scales nor sizes are given");
  giveResized(node, to);
}

static void importGridSample(NodeContext &node) {
  node.setResult(0, onnx::GridSampleOp::create(node.builder, node.loc, node.require(0), node.require(1),
                                               node.word("mode", onnx::GridMode::Linear),
                                               node.word("padding_mode", onnx::GridPadding::Zeros),
                                               node.node.attrBool("align_corners", false)));
}

void kedge::importer::registerResizeImporters(NodeImporters &importers) {
  importers.add("Resize", importResize);
  importers.add("Upsample", importUpsample);
  importers.add("GridSample", importGridSample);
}
