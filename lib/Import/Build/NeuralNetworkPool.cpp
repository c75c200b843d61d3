// Pools and local response normalisation.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NeuralNetworkWindow.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;
using namespace kedge::onnx;

ImportedWindow kedge::importer::importWindow(NodeContext &c, Value x, ArrayRef<int64_t> kernel,
                                             bool resolveAuto) {
  if (rankOf(x) < 3)
    c.fail("expected an input [N, C, spatial...], found rank {}", rankOf(x));
  ArrayRef<int64_t> input = shapeOf(x).drop_front(2);
  ImportedWindow window;
  auto given = c.node.attrIntsIf("kernel_shape");
  window.kernel.assign(kernel.begin(), kernel.end());
  if (kernel.empty() && given)
    window.kernel.assign(given->begin(), given->end());
  std::vector<int64_t> ones(input.size(), 1), zeros(2 * input.size(), 0);
  auto read = [&](const char *name, const std::vector<int64_t> &otherwise) {
    std::vector<int64_t> values = c.node.attrInts(name, otherwise);
    return SmallVector<int64_t>(values.begin(), values.end());
  };
  window.strides = read("strides", ones);
  window.dilations = read("dilations", ones);
  window.pads = read("pads", zeros);
  auto check = [&](ArrayRef<int64_t> values, size_t size, const char *what) {
    if (values.size() != size)
      c.fail("{} has {} entries, expected {} for {} spatial dimensions", what, values.size(), size,
             input.size());
  };
  check(window.kernel, input.size(), "kernel_shape");
  check(window.strides, input.size(), "strides");
  check(window.dilations, input.size(), "dilations");
  check(window.pads, 2 * input.size(), "pads");
  std::string autoPad = c.node.attrString("auto_pad", "NOTSET");
  if (autoPad != "NOTSET" && autoPad != "VALID" && autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER")
    c.fail("auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", autoPad);
  if (resolveAuto && autoPad != "NOTSET")
    window.pads =
        resolveAutoPad(autoPad, input, {window.kernel, window.strides, window.pads, window.dilations});
  return window;
}

namespace {
void importMaxPool(NodeContext &c) {
  Value x = c.require(0);
  ImportedWindow window = importWindow(c, x, {});
  bool indices = c.node.hasOutput(1);
  auto op =
      MaxPoolOp::create(c.builder, c.loc, x, window.kernel, window.strides, window.pads, window.dilations,
                        c.node.attrBool("ceil_mode", false), c.node.attrInt("storage_order", 0), indices);
  c.setResults(op->getResults());
}

void importAveragePool(NodeContext &c) {
  Value x = c.require(0);
  ImportedWindow window = importWindow(c, x, {});
  c.setResult(0, AveragePoolOp::create(c.builder, c.loc, x, window.kernel, window.strides, window.pads,
                                       window.dilations, c.node.attrBool("ceil_mode", false),
                                       c.node.attrBool("count_include_pad", false)));
}

/// The p-th root of what `mean` makes of the p-th powers, times `count`. Where all is 0, so is the gradient.
Value normOf(NodeContext &c, int64_t count, function_ref<Value(Value)> mean) {
  OpBuilder &b = c.builder;
  GradientBuilder math{b, c.loc};
  int64_t p = c.node.attrInt("p", 2);
  if (p < 1)
    c.fail("p is {}, expected at least 1", p);
  Value x = c.require(0), size = AbsOp::create(b, c.loc, x);
  auto number = [&](double value) { return scalarLike(b, c.loc, x, value); };
  auto power = [&](Value v, double exponent) -> Value {
    return PowOp::create(b, c.loc, v, number(exponent));
  };
  Value sum = mean(p == 1 ? size : p == 2 ? math.mul(x, x) : power(size, static_cast<double>(p)));
  sum = math.scale(sum, static_cast<double>(count));
  if (p == 1)
    return sum;
  Value zero = EqualOp::create(b, c.loc, sum, number(0)),
        base = WhereOp::create(b, c.loc, zero, number(1), sum);
  Value root = p == 2 ? Value(SqrtOp::create(b, c.loc, base)) : power(base, 1 / static_cast<double>(p));
  return WhereOp::create(b, c.loc, zero, number(0), root);
}

/// End pads such that the last window of ceil_mode ends within them: then all windows have as many places.
void widenPads(ImportedWindow &window, ArrayRef<int64_t> image) {
  for (size_t i = 0, n = image.size(); i < n && window.strides[i] > 0; ++i) {
    int64_t reach = window.dilations[i] * (window.kernel[i] - 1) + 1;
    int64_t room = image[i] + window.pads[i] + window.pads[n + i] - reach, over = room % window.strides[i];
    // The last window starts in the image or before it.
    bool another = over > 0 && (room / window.strides[i] + 1) * window.strides[i] < image[i] + window.pads[i];
    window.pads[n + i] += another ? window.strides[i] - over : 0;
  }
}

void importLpPool(NodeContext &c) {
  Value x = c.require(0);
  ImportedWindow window = importWindow(c, x, {});
  if (c.node.attrBool("ceil_mode", false))
    widenPads(window, shapeOf(x).drop_front(2));
  c.setResult(0, normOf(c, elementCount(window.kernel), [&](Value powers) -> Value {
                return AveragePoolOp::create(c.builder, c.loc, powers, window.kernel, window.strides,
                                             window.pads, window.dilations, /*ceil_mode=*/false,
                                             /*count_include_pad=*/true);
              }));
}

/// Values scattered into zeros. Indices count in the tensor that a MaxPool with this window would have had;
/// output_shape may be larger at the ends.
void importMaxUnpool(NodeContext &c) {
  OpBuilder &b = c.builder;
  Value x = c.require(0), places = c.require(1);
  ImportedWindow window = importWindow(c, x, {}, /*resolveAuto=*/false);
  Dims shape(shapeOf(x)), pads(2 * rankOf(x), 0), all = {elementCount(shapeOf(x))};
  for (size_t i = 0, n = window.kernel.size(); i < n; ++i)
    shape[i + 2] =
        (shape[i + 2] - 1) * window.strides[i] + window.kernel[i] - window.pads[i] - window.pads[i + n];
  auto wanted = c.constantInts(2, "output_shape");
  if (shapeOf(places) != shapeOf(x) || (wanted && static_cast<int64_t>(wanted->size()) != rankOf(x)))
    c.fail("X [{}], I [{}] and an output_shape of {} entries do not fit", fmt::join(shapeOf(x), " x "),
           fmt::join(shapeOf(places), " x "), wanted ? wanted->size() : shape.size());
  Value zeros = splat(b, c.loc, RankedTensorType::get({elementCount(shape)}, elementOf(x)), 0);
  Value y = ScatterElementsOp::create(b, c.loc, zeros, reshape(b, c.loc, places, all),
                                      reshape(b, c.loc, x, all), 0, "none");
  y = reshape(b, c.loc, y, shape);
  for (int64_t dim = 0; wanted && dim < rankOf(x); ++dim)
    pads[rankOf(x) + dim] = (*wanted)[dim] - shape[dim];
  c.setResult(0, padConstant(b, c.loc, y, Value(), pads));
}

template <typename Op> void importGlobalPool(NodeContext &c) {
  c.setResult(0, Op::create(c.builder, c.loc, c.require(0)));
}

void importGlobalLpPool(NodeContext &c) {
  if (rankOf(c.require(0)) < 3)
    c.fail("expected an input [N, C, spatial...], found rank {}", rankOf(c.require(0)));
  int64_t count = elementCount(shapeOf(c.require(0)).drop_front(2));
  c.setResult(0, normOf(c, count, [&](Value powers) -> Value {
                return GlobalAveragePoolOp::create(c.builder, c.loc, powers);
              }));
}

void importLRN(NodeContext &c) {
  APFloat alpha(c.node.attrFloat("alpha", 1e-4f)), beta(c.node.attrFloat("beta", 0.75f));
  APFloat bias(c.node.attrFloat("bias", 1.0f));
  c.setResult(0, LRNOp::create(c.builder, c.loc, c.require(0), c.node.attrInt("size"), alpha, beta, bias));
}
} // namespace

void kedge::importer::registerPoolImporters(NodeImporters &importers) {
  importers.add("MaxPool", importMaxPool);
  importers.add("AveragePool", importAveragePool);
  importers.add("LpPool", importLpPool);
  importers.add("MaxUnpool", importMaxUnpool);
  importers.add("GlobalAveragePool", importGlobalPool<GlobalAveragePoolOp>);
  importers.add("GlobalMaxPool", importGlobalPool<GlobalMaxPoolOp>);
  importers.add("GlobalLpPool", importGlobalLpPool);
  importers.add("LRN", importLRN);
}
