// QuantizeLinear and its relatives, in ops of the wide types around them. What is quantised and read back
// trains: the gradient passes where nothing was clipped, as PyTorch's fake quantisation has it.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Model/NarrowTypes.h"
#include "lib/Model/Specialize.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
struct QuantisedRange {
  double low, high;
};

/// Of integers; floats have none.
std::optional<QuantisedRange> rangeOf(model::ElementType type) {
  if (auto narrow = model::narrowInteger(type))
    return QuantisedRange{double(narrow->low), double(narrow->high)};
  if (!model::isInteger(type))
    return std::nullopt;
  unsigned bits = model::dtypeBits(type);
  bool isSigned = type == model::ElementType::Int8 || type == model::ElementType::Int16 ||
                  type == model::ElementType::Int32;
  return isSigned ? QuantisedRange{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1}
                  : QuantisedRange{0, std::ldexp(1.0, bits) - 1};
}

model::ElementType dtypeOf(Type element) {
  using model::ElementType;
  bool isUnsigned = element.isUnsignedInteger();
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return isUnsigned ? ElementType::UInt8 : ElementType::Int8;
  case 16:
    return isUnsigned ? ElementType::UInt16 : ElementType::Int16;
  default:
    return ElementType::Int32;
  }
}

/// A scale or zero point against x: one number, one along `axis`, or one per block of it.
Value broadcast(NodeContext &node, Value parameter, Value x) {
  OpBuilder &b = node.builder;
  int64_t rank = rankOf(x), block = node.node.attrInt("block_size", 0);
  if (elementCount(shapeOf(parameter)) == 1 && block == 0)
    return reshape(b, node.loc, parameter, {});
  int64_t axis = axisOf(node, node.node.attrInt("axis", 1), rank);
  if (block == 0) {
    if (shapeOf(parameter) != ArrayRef<int64_t>{shapeOf(x)[axis]})
      node.fail("scale and zero point have the shape [{}], expected one for each of {} along axis {}",
                fmt::join(shapeOf(parameter), " x "), shapeOf(x)[axis], axis);
    Dims shape(rank, 1);
    shape[axis] = shapeOf(x)[axis];
    return reshape(b, node.loc, parameter, shape);
  }
  Dims expected(shapeOf(x));
  if (block > 0)
    expected[axis] = (expected[axis] + block - 1) / block;
  if (node.node.attrInt(model::paddedPointsKey, 0) != 0 && rankOf(parameter) == rank)
    parameter = sliceAxis(b, node.loc, parameter, axis, 0, expected[axis]);
  Dims shape(shapeOf(parameter));
  if (shape != expected)
    node.fail("scale and zero point have the shape [{}], expected [{}] for blocks of {} along axis {}",
              fmt::join(shape, " x "), fmt::join(expected, " x "), block, axis);
  Dims apart(shape);
  apart.insert(apart.begin() + axis + 1, 1);
  Value blocks = reshape(b, node.loc, parameter, apart);
  apart[axis + 1] = block;
  shape[axis] *= block;
  Value whole = reshape(b, node.loc, expand(b, node.loc, blocks, apart), shape);
  return sliceAxis(b, node.loc, whole, axis, 0, shapeOf(x)[axis]);
}

/// Operand k, null when omitted, as f32 numbers.
Value numbers(NodeContext &node, size_t k) {
  if (!node.has(k))
    return {};
  model::ElementType narrow = node.narrowType(k);
  return narrow == model::ElementType::Undefined ? castTo(node, node.require(k), node.builder.getF32Type())
                                                 : fromNarrow(node, node.require(k), narrow);
}

model::ElementType quantisedType(NodeContext &node) {
  if (node.has(2))
    return node.narrowType(2) != model::ElementType::Undefined ? node.narrowType(2)
                                                               : dtypeOf(elementOf(node.require(2)));
  auto given = static_cast<model::ElementType>(node.node.attrInt("output_dtype", 0));
  return given == model::ElementType::Undefined ? model::ElementType::UInt8 : given;
}

void importQuantize(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value given = node.require(0), x = numbers(node, 0);
  Value quotient = math.div(x, broadcast(node, numbers(node, 1), x));
  model::ElementType type = quantisedType(node);
  auto range = rangeOf(type);
  if (!range) {
    Value codes = toNarrow(node, quotient, type, {node.node.attrBool("saturate", true)});
    return node.setResult(0, ImportedValue{codes, std::nullopt, type});
  }
  Value rounded = onnx::RoundOp::create(b, node.loc, quotient);
  if (Value zero = numbers(node, 2))
    rounded = math.add(rounded, broadcast(node, zero, x));
  Value clipped = onnx::ClipOp::create(b, node.loc, rounded, scalarLike(b, node.loc, x, range->low),
                                       scalarLike(b, node.loc, x, range->high));
  auto from = std::make_shared<Quantised>(
      Quantised{given, rounded, node.require(1), node.operand(2), range->low, range->high});
  bool narrow = model::isNarrow(type);
  Type stored = narrow ? storedType(*b.getContext(), type) : node.elementType(type);
  node.setResult(0, ImportedValue{castTo(node, clipped, stored), std::nullopt,
                                  narrow ? type : model::ElementType::Undefined, from});
}

bool sameValue(Value a, Value b) {
  if (a == b || !a || !b)
    return a == b;
  auto first = a.getDefiningOp<onnx::ConstantOp>(), second = b.getDefiningOp<onnx::ConstantOp>();
  return first && second && first.getValue() == second.getValue();
}

/// The gradient goes straight from the numbers read back to those that were quantised.
Value straightThrough(NodeContext &node, Value y, const Quantised &from) {
  OpBuilder &b = node.builder;
  auto bound = [&](double value) { return scalarLike(b, node.loc, from.rounded, value); };
  Value inside = onnx::AndOp::create(
      b, node.loc, onnx::GreaterOrEqualOp::create(b, node.loc, from.rounded, bound(from.low)).getResult(),
      onnx::LessOrEqualOp::create(b, node.loc, from.rounded, bound(from.high)).getResult());
  Value x = castTo(node, from.source, elementOf(y));
  Value along = onnx::WhereOp::create(b, node.loc, inside, x, scalarLike(b, node.loc, x, 0));
  return train::StraightThroughOp::create(b, node.loc, y, along);
}

/// A matrix whose codes stay packed.
bool importPacked(NodeContext &node) {
  OpBuilder &b = node.builder;
  const ImportedValue codes = node.imported(0), scales = node.imported(1);
  const bool hasPoints = node.has(2);
  const Value points = hasPoints ? node.imported(2).packed : Value();
  if (!codes.packed || !scales.packed || (hasPoints && !points))
    return false;
  auto type = cast<RankedTensorType>(codes.tensor.getType());
  const int64_t pitch = hasPoints ? shapeOf(node.imported(2).tensor)[1] : 0;
  Value values = train::DequantizeBlocksOp::create(
      b, node.loc, codes.packed, castTo(node, scales.tensor, b.getF32Type()), points,
      tune::FormatAttr::get(b.getContext(), packedFormat(codes.narrow)),
      b.getI64IntegerAttr(axisOf(node, node.node.attrInt("axis", 1), 2)),
      b.getI64IntegerAttr(node.node.attrInt(model::zeroPointKey, 0)), b.getI64IntegerAttr(pitch),
      TypeAttr::get(type.clone(b.getF32Type())));
  node.setResult(0, castTo(node, values, elementOf(scales.tensor)));
  return true;
}

void importDequantize(NodeContext &node) {
  if (importPacked(node))
    return;
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value scale = node.require(1), x = numbers(node, 0), difference = x;
  if (Value zero = numbers(node, 2))
    difference = math.sub(x, broadcast(node, zero, x));
  else if (const int64_t middle = node.node.attrInt(model::zeroPointKey, 0))
    difference = math.sub(x, scalarLike(b, node.loc, x, static_cast<double>(middle)));
  if (node.has(2) && elementOf(node.require(0)).isInteger(32)) // more digits than f32 has
    difference = castTo(node, math.sub(node.require(0), broadcast(node, node.require(2), x)), b.getF32Type());
  Type element = elementOf(scale);
  if (int64_t type = node.node.attrInt("output_dtype", 0))
    element = node.elementType(static_cast<model::ElementType>(type));
  Value y = castTo(node, math.mul(difference, broadcast(node, numbers(node, 1), x)), element);
  auto from = node.imported(0).quantised;
  if (from && sameValue(from->scale, scale) && sameValue(from->zero, node.operand(2)) &&
      isa<FloatType>(elementOf(from->source)))
    y = straightThrough(node, y, *from);
  node.setResult(0, y);
}

/// A product with a weight in bitsandbytes' codes, [N, K] flattened.
void importMatMulBnb4(NodeContext &node) {
  OpBuilder &b = node.builder;
  const int64_t kind = node.node.attrInt("quant_type", 1), block = node.node.attrInt("block_size");
  if (kind != 0 && kind != 1)
    node.fail("quant_type is {}, expected 0 (fp4) or 1 (nf4)", kind);
  if (node.node.attrInt("transB", 1) != 1)
    node.unsupported("transB of 0 is not supported");
  auto flat = [&](Value x) { return reshape(b, node.loc, x, {elementCount(shapeOf(x))}); };
  auto whole = RankedTensorType::get({node.node.attrInt("N"), node.node.attrInt("K")}, b.getF32Type());
  const Value packed = node.imported(1).packed;
  Value codes = packed && node.imported(2).packed ? packed : flat(node.require(1)),
        absmax = castTo(node, flat(node.require(2)), b.getF32Type());
  const int64_t elements = whole.getNumElements();
  if (block < 2 || block % 2 != 0 || !elementOf(codes).isUnsignedInteger(8) ||
      shapeOf(codes)[0] != (elements + 1) / 2 || shapeOf(absmax)[0] != (elements + block - 1) / block)
    node.fail(
        "its codes and absmax are of {} and {} elements, expected {} and {}, for N x K = {} in blocks of {}",
        shapeOf(codes)[0], shapeOf(absmax)[0], (elements + 1) / 2,
        block > 0 ? (elements + block - 1) / block : 0, elements, block);
  Value values = train::DequantizeOp::create(
      b, node.loc, codes, absmax,
      tune::FormatAttr::get(b.getContext(), kind == 1 ? tune::Format::NF4 : tune::Format::FP4),
      b.getI64IntegerAttr(block), TypeAttr::get(whole));
  Value x = node.require(0);
  node.setResult(0, onnx::MatMulOp::create(b, node.loc, x, castTo(node, values, elementOf(x)),
                                           /*transA=*/false, /*transB=*/true));
}

/// The range of x, with 0 in it, on 0 to 255.
void importDynamicQuantize(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value x = node.require(0);
  Dims all = firstDims(rankOf(x));
  Value none = scalarLike(b, node.loc, x, 0), steps = scalarLike(b, node.loc, x, 255);
  Value high = onnx::MaxOp::create(b, node.loc,
                                   onnx::ReduceMaxOp::create(b, node.loc, x, all, false).getResult(), none);
  Value low = onnx::MinOp::create(b, node.loc,
                                  onnx::ReduceMinOp::create(b, node.loc, x, all, false).getResult(), none);
  Value scale = math.div(math.sub(high, low), steps);
  auto rounded = [&](Value v) -> Value { return onnx::RoundOp::create(b, node.loc, v); };
  auto inRange = [&](Value v) -> Value { return onnx::ClipOp::create(b, node.loc, v, none, steps); };
  Value flat = onnx::EqualOp::create(b, node.loc, scale, none);
  Value divisor = onnx::WhereOp::create(b, node.loc, flat, scalarLike(b, node.loc, x, 1), scale);
  Value zero = inRange(rounded(math.div(math.neg(low), divisor)));
  Type byte = b.getIntegerType(8, /*isSigned=*/false);
  node.setResult(0, castTo(node, inRange(math.add(rounded(math.div(x, divisor)), zero)), byte));
  node.setResult(1, scale);
  node.setResult(2, castTo(node, zero, byte));
}

/// An integer convolution, in the scale of its result.
void importQLinearConv(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value sum = integerConvolution(node, node.require(0), node.require(3), node.require(2), node.require(5));
  Dims perChannel(rankOf(sum), 1);
  auto channels = [&](Value v) {
    perChannel[1] = elementCount(shapeOf(v));
    return elementCount(shapeOf(v)) == 1 ? reshape(b, node.loc, v, {}) : reshape(b, node.loc, v, perChannel);
  };
  if (node.has(8))
    sum = math.add(sum, channels(node.require(8)));
  Value scale =
      math.div(math.mul(channels(node.require(1)), channels(node.require(4))), channels(node.require(6)));
  Value rounded = onnx::RoundOp::create(b, node.loc, math.mul(castTo(node, sum, b.getF32Type()), scale));
  Type element = elementOf(node.require(7));
  Value shifted = math.add(rounded, channels(numbers(node, 7)));
  QuantisedRange range = *rangeOf(dtypeOf(element));
  Value clipped = onnx::ClipOp::create(b, node.loc, shifted, scalarLike(b, node.loc, shifted, range.low),
                                       scalarLike(b, node.loc, shifted, range.high));
  node.setResult(0, castTo(node, clipped, element));
}
} // namespace

void kedge::importer::addQuantizeImporters(NodeImporters &importers) {
  importers.add("QuantizeLinear", importQuantize);
  importers.add("DequantizeLinear", importDequantize);
  importers.add("DynamicQuantizeLinear", importDynamicQuantize);
  importers.add("QLinearConv", importQLinearConv);
  importers.add("MatMulBnb4", importMatMulBnb4, "com.microsoft");
}
