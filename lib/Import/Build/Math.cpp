// Elementwise arithmetic, functions, logic and casts, from any opset to the canonical ops.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include "lib/Lint/Lint.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Sum, Max, Min, Mean of any number of operands: a chain.
template <typename Op> static Value chain(NodeContext &node) {
  SmallVector<Value> operands = node.operands();
  if (operands.empty())
    node.fail("has no operand, expected at least one");
  Value total = operands[0];
  for (Value operand : llvm::drop_begin(operands))
    total = Op::create(node.builder, node.loc, total, operand);
  return total;
}

template <typename Op> static void importChain(NodeContext &node) { node.setResult(0, chain<Op>(node)); }

/// A clamp by a number, which the exporter writes as the Max or Min of two values: nothing passes on the
/// bound.
template <typename Op> static void importClamp(NodeContext &node) {
  const bool clamps = node.operandCount() == 2 && isa<FloatType>(elementOf(node.require(0))) &&
                      lint::pyTorchGradient(node.node).clamps;
  if (!clamps || shapeOf(node.require(0)).size() < shapeOf(node.require(1)).size())
    return importChain<Op>(node);
  Value low = std::is_same_v<Op, onnx::MaxOp> ? node.require(1) : Value(),
        high = low ? Value() : node.require(1);
  node.setResult(0, onnx::ClipOp::create(node.builder, node.loc, node.require(0), low, high));
}

/// A function that is -100 at the least and takes a log: half of PyTorch's binary_cross_entropy, of a
/// probability that may be 0.
static bool isLogOfProbability(NodeContext &node) {
  if (node.operandCount() != 2 || !node.require(0).getDefiningOp<onnx::LogOp>() ||
      !node.require(1).getDefiningOp())
    return false;
  const auto least = node.constantFloats(1, "least log");
  return least && llvm::all_of(*least, [](double value) { return value == -100; });
}

/// Its gradient is 1 / max(p, 1e-12), of which the bound of -100 takes nothing.
static void importMax(NodeContext &node) {
  if (!isLogOfProbability(node))
    return importClamp<onnx::MaxOp>(node);
  OpBuilder &b = node.builder;
  Value p = node.require(0).getDefiningOp()->getOperand(0);
  Value least = onnx::MaxOp::create(b, node.loc, p, scalarLike(b, node.loc, p, 1e-12));
  Value fixed = onnx::IdentityOp::create(b, node.loc, least, b.getUnitAttr());
  Value along = onnx::DivOp::create(b, node.loc, p, fixed);
  node.setResult(0, train::StraightThroughOp::create(b, node.loc, chain<onnx::MaxOp>(node), along));
}

/// Whether `v` adds up a row, perhaps scaled: variances and squared lengths, of which roots are deviations
/// and norms.
static bool isFold(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return false;
  if (isa<onnx::ReduceSumOp, onnx::ReduceMeanOp, onnx::ReduceSumSquareOp>(op))
    return true;
  if (isa<onnx::ReshapeOp, onnx::ExpandOp, onnx::CastOp, onnx::DivOp>(op))
    return isFold(op->getOperand(0));
  return isa<onnx::MulOp>(op) && llvm::any_of(op->getOperands(), isFold);
}

/// The root of a fold: where it is 0, so is PyTorch's gradient of std(), norms and distances. ONNX writes
/// them with these operators.
template <typename Root> static Value rootOfFold(NodeContext &node, Value x, Root root) {
  OpBuilder &b = node.builder;
  Value none = scalarLike(b, node.loc, x, 0), isNone = onnx::EqualOp::create(b, node.loc, x, none);
  Value others = onnx::WhereOp::create(b, node.loc, isNone, scalarLike(b, node.loc, x, 1), x);
  return onnx::WhereOp::create(b, node.loc, isNone, none, root(others));
}

static void importSqrt(NodeContext &node) {
  auto root = [&](Value x) -> Value { return onnx::SqrtOp::create(node.builder, node.loc, x); };
  Value x = node.require(0);
  node.setResult(0, isFold(x) ? rootOfFold(node, x, root) : root(x));
}

/// Whether the exponent is one number between 0 and 1.
static bool isRoot(NodeContext &node) {
  Value exponent = node.require(1);
  if (!exponent.getDefiningOp() || !isa<FloatType>(elementOf(exponent)))
    return false; // states may train
  try {
    auto values = node.constantFloats(1, "exponent");
    return values && values->size() == 1 && values->front() > 0 && values->front() < 1;
  } catch (const UnsupportedNode &) {
    return false; // it depends on data
  }
}

static void importPow(NodeContext &node) {
  auto power = [&](Value x) -> Value {
    return onnx::PowOp::create(node.builder, node.loc, x, node.require(1));
  };
  Value x = node.require(0);
  node.setResult(0, isFold(x) && isRoot(node) ? rootOfFold(node, x, power) : power(x));
}

/// What `x` is the negative of; null when it is none. A factor that follows the sign is part of the result.
static Value negated(NodeContext &node, Value x) {
  if (auto neg = x.getDefiningOp<onnx::NegOp>())
    return neg->getOperand(0);
  if (auto product = x.getDefiningOp<onnx::MulOp>())
    for (unsigned k : {0u, 1u})
      if (auto neg = product->getOperand(k).getDefiningOp<onnx::NegOp>())
        return onnx::MulOp::create(node.builder, node.loc, neg->getOperand(0), product->getOperand(1 - k));
  return {};
}

/// TensorFlow's erfc(x) = 1 - erf(x), which tf2onnx names so; Keras' GELU takes it of a negative.
static void importErfc(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = node.require(0), one = scalarLike(b, node.loc, x, 1);
  if (Value of = negated(node, x))
    return node.setResult(0, onnx::AddOp::create(b, node.loc, onnx::ErfOp::create(b, node.loc, of), one));
  node.setResult(0, onnx::SubOp::create(b, node.loc, one, onnx::ErfOp::create(b, node.loc, x)));
}

static void importMean(NodeContext &node) {
  Value sum = chain<onnx::AddOp>(node);
  Value count = scalarLike(node.builder, node.loc, sum, node.operandCount());
  node.setResult(0, onnx::DivOp::create(node.builder, node.loc, sum, count));
}

/// Before opset 11 the bounds were attributes.
static void importClip(NodeContext &node) {
  Value x = node.require(0), low, high;
  if (node.opset() >= 11) {
    low = node.has(1) ? node.operand(1) : Value();
    high = node.has(2) ? node.operand(2) : Value();
  } else {
    if (node.node.has("min"))
      low = scalarLike(node.builder, node.loc, x, node.node.attrFloat("min"));
    if (node.node.has("max"))
      high = scalarLike(node.builder, node.loc, x, node.node.attrFloat("max"));
  }
  node.setResult(0, onnx::ClipOp::create(node.builder, node.loc, x, low, high));
}

static void importMod(NodeContext &node) {
  BoolAttr fmod = node.builder.getBoolAttr(node.node.attrBool("fmod", false));
  node.setResult(0, onnx::ModOp::create(node.builder, node.loc, node.require(0), node.require(1), fmod));
}

static void importBitShift(NodeContext &node) {
  std::string direction = node.node.attrString("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    node.fail("attribute direction is '{}', expected 'LEFT' or 'RIGHT'", direction);
  BoolAttr left = node.builder.getBoolAttr(direction == "LEFT");
  node.setResult(0, onnx::BitShiftOp::create(node.builder, node.loc, node.require(0), node.require(1), left));
}

static void importIsInf(NodeContext &node) {
  BoolAttr negative = node.builder.getBoolAttr(node.node.attrBool("detect_negative", true));
  BoolAttr positive = node.builder.getBoolAttr(node.node.attrBool("detect_positive", true));
  node.setResult(0, onnx::IsInfOp::create(node.builder, node.loc, node.require(0), negative, positive));
}

static void importWhere(NodeContext &node) {
  node.setResult(
      0, onnx::WhereOp::create(node.builder, node.loc, node.require(0), node.require(1), node.require(2)));
}

// Operators of ai.onnx.ml that compute on rows of numbers.
namespace {
/// These operators take any numbers and give float32.
Value floats(NodeContext &node) { return castTo(node, node.require(0), node.builder.getF32Type()); }

/// One number for each column, or one for all.
Value columns(NodeContext &node, StringRef attribute, Value x) {
  std::vector<float> values = node.node.attrFloats(attribute);
  if (values.empty())
    return {};
  const int64_t size = shapeOf(x).empty() ? 1 : shapeOf(x).back(), count = values.size();
  if (count != 1 && count != size)
    node.fail("attribute {} has {} numbers, expected 1 or {}", attribute.str(), count, size);
  return constantNumbers(node, elementOf(x), {count}, SmallVector<double>(values.begin(), values.end()));
}

void importNormalizer(NodeContext &node) {
  OpBuilder &b = node.builder;
  Location loc = node.loc;
  Value x = floats(node), norm;
  GradientBuilder math{b, loc};
  const std::string kind = node.node.attrString("norm", "MAX");
  const SmallVector<int64_t> axes = {rankOf(x) - 1};
  if (kind == "MAX")
    norm = onnx::ReduceMaxOp::create(b, loc, x, axes, /*keepdims=*/true);
  else if (kind == "L1")
    norm = onnx::ReduceSumOp::create(b, loc, onnx::AbsOp::create(b, loc, x), axes, /*keepdims=*/true);
  else if (kind == "L2")
    norm = onnx::ReduceSumOp::create(b, loc, math.mul(x, x), axes, /*keepdims=*/true);
  else
    node.fail("attribute norm is '{}', expected MAX, L1 or L2", kind);
  // A row of zeros stays as it is.
  Value isNone = onnx::EqualOp::create(b, loc, norm, scalarLike(b, loc, norm, 0));
  norm = onnx::WhereOp::create(b, loc, isNone, scalarLike(b, loc, norm, 1), norm);
  if (kind == "L2")
    norm = onnx::SqrtOp::create(b, loc, norm);
  node.setResult(0, math.div(x, norm));
}

void importScaler(NodeContext &node) {
  GradientBuilder math{node.builder, node.loc};
  Value x = floats(node);
  if (Value offset = columns(node, "offset", x))
    x = math.sub(x, offset);
  if (Value scale = columns(node, "scale", x))
    x = math.mul(x, scale);
  node.setResult(0, x);
}

void importBinarizer(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = floats(node);
  Value above = onnx::GreaterOp::create(b, node.loc, x,
                                        scalarLike(b, node.loc, x, node.node.attrFloat("threshold", 0)));
  node.setResult(0, castTo(node, above, b.getF32Type()));
}

void importArrayFeatureExtractor(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = node.require(0), indices = node.require(1);
  Value flat = reshape(b, node.loc, indices, {elementCount(shapeOf(indices))});
  Value chosen =
      onnx::GatherOp::create(b, node.loc, x, flat, b.getI64IntegerAttr(rankOf(x) - 1), IntegerAttr());
  if (rankOf(x) == 1) // a row of what is chosen
    chosen = reshape(b, node.loc, chosen, {1, shapeOf(chosen)[0]});
  node.setResult(0, chosen);
}

void importFeatureVectorizer(NodeContext &node) {
  SmallVector<Value> parts;
  for (size_t k = 0; k < node.operandCount(); ++k)
    parts.push_back(castTo(node, node.require(k), node.builder.getF32Type()));
  if (parts.empty())
    node.fail("has no operand, expected at least one");
  node.setResult(0, parts.size() == 1
                        ? parts[0]
                        : Value(onnx::ConcatOp::create(node.builder, node.loc, parts, rankOf(parts[0]) - 1)));
}
} // namespace

static void addRowOperators(NodeImporters &importers) {
  importers.add("Normalizer", importNormalizer, "ai.onnx.ml");
  importers.add("Scaler", importScaler, "ai.onnx.ml");
  importers.add("Binarizer", importBinarizer, "ai.onnx.ml");
  importers.add("ArrayFeatureExtractor", importArrayFeatureExtractor, "ai.onnx.ml");
  importers.add("FeatureVectorizer", importFeatureVectorizer, "ai.onnx.ml");
}

static void addFunctions(NodeImporters &importers) {
  importers.add("Neg", importUnary<onnx::NegOp>);
  importers.add("Abs", importUnary<onnx::AbsOp>);
  importers.add("Sign", importUnary<onnx::SignOp>);
  importers.add("Reciprocal", importUnary<onnx::ReciprocalOp>);
  importers.add("Sqrt", importSqrt);
  importers.add("Exp", importUnary<onnx::ExpOp>);
  importers.add("Log", importUnary<onnx::LogOp>);
  importers.add("Erf", importUnary<onnx::ErfOp>);
  importers.add("Erfc", importErfc);
  importers.add("Sin", importUnary<onnx::SinOp>);
  importers.add("Cos", importUnary<onnx::CosOp>);
  importers.add("Tan", importUnary<onnx::TanOp>);
  importers.add("Asin", importUnary<onnx::AsinOp>);
  importers.add("Acos", importUnary<onnx::AcosOp>);
  importers.add("Atan", importUnary<onnx::AtanOp>);
  importers.add("Sinh", importUnary<onnx::SinhOp>);
  importers.add("Cosh", importUnary<onnx::CoshOp>);
  importers.add("Asinh", importUnary<onnx::AsinhOp>);
  importers.add("Acosh", importUnary<onnx::AcoshOp>);
  importers.add("Atanh", importUnary<onnx::AtanhOp>);
  importers.add("Ceil", importUnary<onnx::CeilOp>);
  importers.add("Floor", importUnary<onnx::FloorOp>);
  importers.add("Round", importUnary<onnx::RoundOp>);
}

static void addArithmetic(NodeImporters &importers) {
  importers.add("Add", importBinary<onnx::AddOp>);
  importers.add("Sub", importBinary<onnx::SubOp>);
  importers.add("Mul", importBinary<onnx::MulOp>);
  importers.add("Div", importBinary<onnx::DivOp>);
  importers.add("Pow", importPow);
  importers.add("Mod", importMod);
  importers.add("Max", importMax);
  importers.add("Min", importClamp<onnx::MinOp>);
  importers.add("Sum", importChain<onnx::AddOp>);
  importers.add("Mean", importMean);
  importers.add("Clip", importClip);
}

static void addLogic(NodeImporters &importers) {
  importers.add("Equal", importBinary<onnx::EqualOp>);
  importers.add("Less", importBinary<onnx::LessOp>);
  importers.add("Greater", importBinary<onnx::GreaterOp>);
  importers.add("LessOrEqual", importBinary<onnx::LessOrEqualOp>);
  importers.add("GreaterOrEqual", importBinary<onnx::GreaterOrEqualOp>);
  importers.add("And", importBinary<onnx::AndOp>);
  importers.add("Or", importBinary<onnx::OrOp>);
  importers.add("Xor", importBinary<onnx::XorOp>);
  importers.add("Not", importUnary<onnx::NotOp>);
  importers.add("BitwiseAnd", importBinary<onnx::BitwiseAndOp>);
  importers.add("BitwiseOr", importBinary<onnx::BitwiseOrOp>);
  importers.add("BitwiseXor", importBinary<onnx::BitwiseXorOp>);
  importers.add("BitwiseNot", importUnary<onnx::BitwiseNotOp>);
  importers.add("BitShift", importBitShift);
  importers.add("IsNaN", importUnary<onnx::IsNaNOp>);
  importers.add("IsInf", importIsInf);
  importers.add("Where", importWhere);
}

void kedge::importer::registerMathImporters(NodeImporters &importers) {
  addFunctions(importers);
  addArithmetic(importers);
  addLogic(importers);
  addRowOperators(importers);
  addActivationImporters(importers);
  addQuantizeImporters(importers);
  addQonnxImporters(importers);
  addWindowImporters(importers);
  addDeterminantImporter(importers);
}
