// Pools and local response normalisation.
#include "NeuralNetworkWindow.h"
#include "kedge/Dialect/ONNX/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/ONNX/WindowShape.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

ImportedWindow kedge::importWindow(NodeContext &c, Value x, ArrayRef<int64_t> kernel, bool resolveAuto) {
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

void importLpPool(NodeContext &c) {
  Value x = c.require(0);
  ImportedWindow window = importWindow(c, x, {});
  c.setResult(0, LpPoolOp::create(c.builder, c.loc, x, window.kernel, window.strides, window.pads,
                                  window.dilations, c.node.attrBool("ceil_mode", false),
                                  c.node.attrInt("p", 2)));
}

void importMaxUnpool(NodeContext &c) {
  Value x = c.require(0);
  ImportedWindow window = importWindow(c, x, {}, /*resolveAuto=*/false);
  SmallVector<int64_t> shape(shapeOf(x));
  for (size_t i = 0, n = window.kernel.size(); i < n; ++i)
    shape[i + 2] =
        (shape[i + 2] - 1) * window.strides[i] + window.kernel[i] - window.pads[i] - window.pads[i + n];
  if (auto given = c.constantInts(2, "output_shape"))
    shape = *given;
  c.setResult(0, MaxUnpoolOp::create(c.builder, c.loc, x, c.require(1), window.kernel, window.strides,
                                     window.pads, shape));
}

template <typename Op> void importGlobalPool(NodeContext &c) {
  c.setResult(0, Op::create(c.builder, c.loc, c.require(0)));
}

void importGlobalLpPool(NodeContext &c) {
  c.setResult(0, GlobalLpPoolOp::create(c.builder, c.loc, c.require(0), c.node.attrInt("p", 2)));
}

void importLRN(NodeContext &c) {
  APFloat alpha(c.node.attrFloat("alpha", 1e-4f)), beta(c.node.attrFloat("beta", 0.75f));
  APFloat bias(c.node.attrFloat("bias", 1.0f));
  c.setResult(0, LRNOp::create(c.builder, c.loc, c.require(0), c.node.attrInt("size"), alpha, beta, bias));
}
} // namespace

void kedge::registerPoolImporters(NodeImporters &importers) {
  importers.add("MaxPool", importMaxPool);
  importers.add("AveragePool", importAveragePool);
  importers.add("LpPool", importLpPool);
  importers.add("MaxUnpool", importMaxUnpool);
  importers.add("GlobalAveragePool", importGlobalPool<GlobalAveragePoolOp>);
  importers.add("GlobalMaxPool", importGlobalPool<GlobalMaxPoolOp>);
  importers.add("GlobalLpPool", importGlobalLpPool);
  importers.add("LRN", importLRN);
}
