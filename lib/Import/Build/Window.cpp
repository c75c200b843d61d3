// Window functions of signal processing: constants, since their size is known at compile time.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "lib/Import/Build/MathImporters.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N the size, or one less for symmetric windows.
static void importWindow(NodeContext &node, double a0, double a1, double a2) {
  auto operand = node.constantInts(0, "size");
  if (!operand || operand->size() != 1 || operand->front() < 0)
    node.fail("size is missing or no single number that is not negative");
  int64_t size = operand->front();
  double period = node.node.attrBool("periodic", true) ? size : size - 1;
  Type element = node.elementType(static_cast<model::ElementType>(node.node.attrInt("output_datatype", 1)));
  if (!isa<FloatType>(element))
    node.unsupported("windows of integers are not supported");
  SmallVector<Attribute> values;
  for (int64_t n = 0; n < size; ++n) {
    double angle = period > 0 ? 2 * std::numbers::pi * n / period : 0;
    values.push_back(FloatAttr::get(element, a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle)));
  }
  auto window = DenseElementsAttr::get(RankedTensorType::get({size}, element), values);
  node.setResult(0, onnx::ConstantOp::create(node.builder, node.loc, window));
}

static void importHann(NodeContext &node) { importWindow(node, 0.5, 0.5, 0); }
static void importHamming(NodeContext &node) { importWindow(node, 25.0 / 46, 21.0 / 46, 0); }
static void importBlackman(NodeContext &node) { importWindow(node, 0.42, 0.5, 0.08); }

void kedge::importer::addWindowImporters(NodeImporters &importers) {
  importers.add("HannWindow", importHann);
  importers.add("HammingWindow", importHamming);
  importers.add("BlackmanWindow", importBlackman);
}
