// Fake quantisation as QONNX writes it (https://github.com/fastmachinelearning/qonnx): Quant, BipolarQuant
// and Trunc, in float numbers. Gradients pass each rounding straight, and stop where numbers are clipped, as
// Brevitas trains them; a scale that trains has its gradient, too.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/Build/NarrowCasts.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {

/// The words that Brevitas and FINN wrote the operators under, before QONNX' own.
constexpr const char *kDomains[] = {"qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general"};

/// Rounds, and lets gradients through as if it did not.
struct Rounding {
  NodeContext &node;
  OpBuilder &b = node.builder;
  GradientBuilder math{node.builder, node.loc};

  Value number(Value like, double value) { return scalarLike(b, node.loc, like, value); }
  Value floor(Value x) { return onnx::FloorOp::create(b, node.loc, x); }
  Value ceil(Value x) { return onnx::CeilOp::create(b, node.loc, x); }
  /// Away from zero and back, of magnitudes.
  template <typename Of> Value symmetric(Value x, Of &&of) {
    Value magnitude = onnx::AbsOp::create(b, node.loc, x), sign = onnx::SignOp::create(b, node.loc, x);
    return math.mul(sign, of(magnitude));
  }

  Value rounded(Value x, StringRef mode) {
    if (mode == "ROUND" || mode == "HALF_EVEN")
      return onnx::RoundOp::create(b, node.loc, x);
    if (mode == "FLOOR")
      return floor(x);
    if (mode == "CEIL")
      return ceil(x);
    if (mode == "UP")
      return symmetric(x, [&](Value v) { return ceil(v); });
    if (mode == "DOWN" || mode == "ROUND_TO_ZERO")
      return symmetric(x, [&](Value v) { return floor(v); });
    if (mode == "HALF_UP")
      return symmetric(x, [&](Value v) { return floor(math.add(v, number(v, 0.5))); });
    if (mode == "HALF_DOWN")
      return symmetric(x, [&](Value v) { return ceil(math.sub(v, number(v, 0.5))); });
    node.fail(
        "rounding_mode '{}' is none of ROUND, HALF_EVEN, FLOOR, CEIL, UP, DOWN, ROUND_TO_ZERO, HALF_UP, "
        "HALF_DOWN",
        mode.str());
  }

  Value straight(Value value, Value along) {
    return train::StraightThroughOp::create(b, node.loc, value, along);
  }
  Value through(Value x, StringRef mode) { return straight(rounded(x, mode), x); }
};

double bitsOf(NodeContext &node, size_t k, const char *what) {
  const auto bits = node.constantFloats(k, what);
  if (!bits || bits->size() != 1 || !((*bits)[0] >= 1) || (*bits)[0] > 32)
    node.fail("{} is not one number from 1 to 32: other forms of it are not supported", what);
  return (*bits)[0];
}

Value inType(NodeContext &node, size_t k, Value like) {
  return castTo(node, node.require(k), elementOf(like));
}

void importQuant(NodeContext &node) {
  Rounding rounding{node};
  Value x = node.require(0), scale = inType(node, 1, x), zero = inType(node, 2, x);
  const double bits = bitsOf(node, 3, "the bit width");
  const bool isSigned = node.node.attrInt("signed", 1) != 0, isNarrow = node.node.attrInt("narrow", 0) != 0;
  const double high = isSigned ? std::exp2(bits - 1) - 1 : std::exp2(bits) - (isNarrow ? 2 : 1);
  const double low = isSigned ? -std::exp2(bits - 1) + (isNarrow ? 1 : 0) : 0;
  GradientBuilder &math = rounding.math;
  Value steps = math.add(math.div(x, scale), zero);
  Value clipped = onnx::ClipOp::create(node.builder, node.loc, steps, rounding.number(steps, low),
                                       rounding.number(steps, high));
  Value whole = rounding.through(clipped, node.node.attrString("rounding_mode", "ROUND"));
  node.setResult(0, math.mul(math.sub(whole, zero), scale));
}

/// 1 from zero on, else -1, times the scale.
void importBipolarQuant(NodeContext &node) {
  Rounding rounding{node};
  OpBuilder &b = node.builder;
  Value x = node.require(0), scale = inType(node, 1, x);
  Value isUp = onnx::GreaterOrEqualOp::create(b, node.loc, x, rounding.number(x, 0));
  Value like = onnx::WhereOp::create(b, node.loc, isUp, rounding.number(x, 1), rounding.number(x, -1));
  node.setResult(0, rounding.math.mul(rounding.straight(like, x), scale));
}

/// Leaves the lowest bits out.
void importTrunc(NodeContext &node) {
  if (node.operandCount() != 5)
    node.unsupported("Trunc with a scale of its own for what it gives (opset 2) is not supported");
  Rounding rounding{node};
  GradientBuilder &math = rounding.math;
  Value x = node.require(0), scale = inType(node, 1, x), zero = inType(node, 2, x);
  const double left =
      bitsOf(node, 3, "the bit width of what comes in") - bitsOf(node, 4, "the bit width of what goes out");
  Value steps = rounding.through(math.add(math.div(x, scale), zero), "ROUND");
  Value fewer = math.scale(steps, std::exp2(-left));
  Value whole = rounding.through(fewer, node.node.attrString("rounding_mode", "FLOOR"));
  node.setResult(0, math.mul(math.sub(whole, zero), scale));
}

} // namespace

void kedge::importer::addQonnxImporters(NodeImporters &importers) {
  for (const char *domain : kDomains) {
    importers.add("Quant", importQuant, domain);
    importers.add("BipolarQuant", importBipolarQuant, domain);
    importers.add("Trunc", importTrunc, domain);
  }
}
