// Activations and Dropout, with ONNX's defaults.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MathImporters.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static FloatAttr parameter(NodeContext &node, StringRef name, float otherwise) {
  return node.builder.getF32FloatAttr(node.node.attrFloat(std::string_view(name), otherwise));
}

template <typename Op> static void importScaled(NodeContext &node, float alpha) {
  node.setResult(0, Op::create(node.builder, node.loc, node.require(0), parameter(node, "alpha", alpha)));
}

static void importLeakyRelu(NodeContext &node) { importScaled<onnx::LeakyReluOp>(node, 0.01f); }
static void importElu(NodeContext &node) { importScaled<onnx::EluOp>(node, 1.0f); }
static void importCelu(NodeContext &node) { importScaled<onnx::CeluOp>(node, 1.0f); }
static void importThresholdedRelu(NodeContext &node) { importScaled<onnx::ThresholdedReluOp>(node, 1.0f); }

template <typename Op>
static void importTwoParameters(NodeContext &node, StringRef first, float a, StringRef second, float b) {
  node.setResult(0, Op::create(node.builder, node.loc, node.require(0), parameter(node, first, a),
                               parameter(node, second, b)));
}

static void importSelu(NodeContext &node) {
  importTwoParameters<onnx::SeluOp>(node, "alpha", 1.67326319217681884765625f, "gamma",
                                    1.05070102214813232421875f);
}
static void importHardSigmoid(NodeContext &node) {
  importTwoParameters<onnx::HardSigmoidOp>(node, "alpha", 0.2f, "beta", 0.5f);
}
static void importShrink(NodeContext &node) {
  importTwoParameters<onnx::ShrinkOp>(node, "lambd", 0.5f, "bias", 0.0f);
}

/// The ratio is an attribute before opset 12, an operand since.
static float dropoutRatio(NodeContext &node) {
  if (node.opset() < 12)
    return node.node.attrFloat("ratio", 0.5f);
  auto ratio = node.constantFloats(1, "ratio");
  if (ratio && ratio->size() != 1)
    node.fail("the ratio has {} elements, expected one", ratio->size());
  return ratio ? static_cast<float>(ratio->front()) : 0.5f;
}

/// Before opset 12 a Dropout says nothing about training: it is taken as inference, which lint reports.
static bool dropoutTrains(NodeContext &node) {
  if (node.opset() < 12)
    return false;
  auto training = node.constantInts(2, "training_mode");
  return training && !training->empty() && training->front() != 0;
}

static void importDropout(NodeContext &node) {
  Value x = node.require(0);
  float ratio = dropoutRatio(node);
  if (!(ratio >= 0 && ratio <= 1))
    node.fail("the ratio is {}, expected one of [0, 1]", ratio);
  bool withMask = node.node.hasOutput(1);
  if (dropoutTrains(node) && ratio > 0) {
    Builder &b = node.builder;
    auto op =
        onnx::DropoutOp::create(node.builder, node.loc, x, b.getF32FloatAttr(ratio), b.getBoolAttr(true),
                                b.getI64IntegerAttr(node.node.id), b.getBoolAttr(withMask));
    node.setResults(op->getResults());
    return;
  }
  node.setResult(0, x);
  if (!withMask)
    return;
  Type element = node.opset() < 10 ? elementOf(x) : node.builder.getI1Type();
  node.setResult(1, splat(node.builder, node.loc, RankedTensorType::get(shapeOf(x), element), 1));
}

void kedge::importer::addActivationImporters(NodeImporters &importers) {
  importers.add("Relu", importUnary<onnx::ReluOp>);
  importers.add("Sigmoid", importUnary<onnx::SigmoidOp>);
  importers.add("Tanh", importUnary<onnx::TanhOp>);
  importers.add("Softplus", importUnary<onnx::SoftplusOp>);
  importers.add("Softsign", importUnary<onnx::SoftsignOp>);
  importers.add("HardSwish", importUnary<onnx::HardSwishOp>);
  importers.add("Mish", importUnary<onnx::MishOp>);
  importers.add("LeakyRelu", importLeakyRelu);
  importers.add("Elu", importElu);
  importers.add("Celu", importCelu);
  importers.add("ThresholdedRelu", importThresholdedRelu);
  importers.add("Selu", importSelu);
  importers.add("HardSigmoid", importHardSigmoid);
  importers.add("Shrink", importShrink);
  importers.add("PRelu", importBinary<onnx::PReluOp>);
  importers.add("Dropout", importDropout);
}
