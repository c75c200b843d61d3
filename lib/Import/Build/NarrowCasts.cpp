#include "lib/Import/Build/NarrowCasts.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/NodeConstants.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

Value kedge::importer::castTo(NodeContext &node, Value x, Type element) {
  return elementOf(x) == element
             ? x
             : onnx::CastOp::create(node.builder, node.loc, x, TypeAttr::get(element)).getResult();
}

Value kedge::importer::fromNarrow(NodeContext &node, Value codes, model::ElementType type) {
  OpBuilder &b = node.builder;
  if (model::narrowInteger(type))
    return castTo(node, codes, b.getF32Type());
  SmallVector<float> numbers;
  for (int code = 0; code < 256; ++code)
    numbers.push_back(static_cast<float>(model::narrowValue(type, static_cast<uint8_t>(code))));
  auto table = DenseElementsAttr::get(RankedTensorType::get({256}, b.getF32Type()), ArrayRef<float>(numbers));
  Value places = castTo(node, codes, b.getI32Type());
  return onnx::GatherOp::create(b, node.loc, onnx::ConstantOp::create(b, node.loc, table), places,
                                b.getI64IntegerAttr(0), IntegerAttr());
}

namespace {
/// Bits of f32 numbers as i32, and what is made of them.
struct Bits {
  OpBuilder &b;
  Location loc;

  Value number(int64_t value) {
    auto type = RankedTensorType::get({}, b.getI32Type());
    return onnx::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(int32_t(value))));
  }
  Value of(Value x) { return onnx::BitCastOp::create(b, loc, x, TypeAttr::get(b.getI32Type())); }
  Value add(Value a, Value c) { return onnx::AddOp::create(b, loc, a, c); }
  Value masked(Value x, int64_t mask) { return onnx::BitwiseAndOp::create(b, loc, x, number(mask)); }
  /// Of values that are not negative.
  Value right(Value x, int64_t by) { return onnx::DivOp::create(b, loc, x, number(int64_t(1) << by)); }
  Value above(Value x, int64_t limit) { return onnx::GreaterOp::create(b, loc, x, number(limit)); }
  Value choose(Value condition, Value a, Value c) { return onnx::WhereOp::create(b, loc, condition, a, c); }
  Value both(Value a, Value c) { return onnx::AndOp::create(b, loc, a, c); }
};

constexpr int64_t infinityBits = 0x7f800000, magnitudeBits = 0x7fffffff;

/// The magnitude is scaled so that its exponent field becomes the format's, which also makes the format's
/// subnormal numbers f32's; the mantissa is then rounded to even.
Value codesOfFloats(Bits bits, Value x, const model::NarrowFloat &format, bool saturates) {
  OpBuilder &b = bits.b;
  Value given = bits.masked(bits.of(x), magnitudeBits);
  Value scaled = onnx::MulOp::create(b, bits.loc, onnx::AbsOp::create(b, bits.loc, x),
                                     scalarLike(b, bits.loc, x, std::ldexp(1.0, format.bias - 127)));
  Value magnitude = bits.of(scaled);
  int shift = 23 - format.mantissaBits;
  Value odd = bits.masked(bits.right(magnitude, shift), 1);
  Value code = bits.right(bits.add(bits.add(magnitude, bits.number((1 << (shift - 1)) - 1)), odd), shift);
  int beyond = saturates ? format.largest : format.infinity >= 0 ? format.infinity : format.nan;
  code =
      bits.choose(bits.above(code, format.largest), bits.number(beyond < 0 ? format.largest : beyond), code);
  int signBit = 1 << (format.exponentBits + format.mantissaBits);
  Value negative = onnx::LessOp::create(b, bits.loc, bits.of(x), bits.number(0));
  if (!format.signedZero)
    negative = bits.both(negative, bits.both(bits.above(code, 0),
                                             onnx::LessOp::create(b, bits.loc, code, bits.number(signBit))));
  code = bits.choose(negative, bits.add(code, bits.number(signBit)), code);
  // Without a NaN it is the negative zero, as in ml_dtypes.
  return bits.choose(bits.above(given, infinityBits), bits.number(format.nan < 0 ? signBit : format.nan),
                     code);
}

/// Powers of two by their exponents; what is not finite is NaN.
Value codesOfExponents(NodeContext &node, Bits bits, Value x, const NarrowRounding &rounding) {
  Value given = bits.masked(bits.of(x), magnitudeBits);
  Value exponent = bits.right(given, 23), fraction = bits.masked(given, 0x7fffff), up;
  if (rounding.ofExponents == "up")
    up = bits.above(fraction, 0);
  else if (rounding.ofExponents ==
           "nearest") // the half goes up, but between 0 and the smallest normal number
    up = onnx::OrOp::create(bits.b, bits.loc, bits.above(fraction, 0x400000),
                            bits.both(bits.above(fraction, 0x3fffff), bits.above(exponent, 0)));
  else if (rounding.ofExponents != "down")
    node.fail("round_mode '{}' is none of up, down, nearest", rounding.ofExponents);
  Value code = exponent;
  if (up) {
    if (rounding.saturates)
      up = bits.both(up, onnx::LessOp::create(bits.b, bits.loc, exponent, bits.number(0xfe)));
    code = bits.choose(up, bits.add(exponent, bits.number(1)), exponent);
  }
  return bits.choose(bits.above(given, infinityBits - 1), bits.number(0xff), code);
}

/// The low bits, with the sign of the highest of them.
Value wrapped(NodeContext &node, Value x, const model::NarrowInteger &range) {
  OpBuilder &b = node.builder;
  int count = range.high - range.low + 1;
  Value whole = castTo(node, x, b.getI64Type());
  Value moved = onnx::SubOp::create(b, node.loc, whole, scalarLike(b, node.loc, whole, range.low));
  Value low =
      onnx::ModOp::create(b, node.loc, moved, scalarLike(b, node.loc, whole, count), b.getBoolAttr(false));
  return onnx::AddOp::create(b, node.loc, low, scalarLike(b, node.loc, whole, range.low));
}
} // namespace

Value kedge::importer::toNarrow(NodeContext &node, Value x, model::ElementType type,
                                const NarrowRounding &rounding) {
  Type stored = storedType(*node.builder.getContext(), type);
  if (auto range = model::narrowInteger(type))
    return castTo(node, wrapped(node, x, *range), stored);
  Bits bits{node.builder, node.loc};
  x = castTo(node, x, node.builder.getF32Type());
  Value codes = type == model::ElementType::Float8E8M0
                    ? codesOfExponents(node, bits, x, rounding)
                    : codesOfFloats(bits, x, *model::narrowFloat(type), rounding.saturates);
  return castTo(node, codes, stored);
}

namespace {
/// An operand as numbers of an element type that arithmetic has.
Value numbersOf(NodeContext &node, size_t k) {
  model::ElementType narrow = node.narrowType(k);
  return narrow == model::ElementType::Undefined ? node.require(k)
                                                 : fromNarrow(node, node.require(k), narrow);
}

void giveCast(NodeContext &node, model::ElementType to) {
  model::ElementType from = node.narrowType(0);
  if (model::isNarrow(to)) {
    if (from == to)
      return node.setResult(0, node.imported(0));
    NarrowRounding rounding{node.node.attrBool("saturate", true), node.node.attrString("round_mode", "up")};
    Value codes = toNarrow(node, numbersOf(node, 0), to, rounding);
    return node.setResult(0, ImportedValue{codes, std::nullopt, to});
  }
  node.setResult(0, castTo(node, numbersOf(node, 0), node.elementType(to)));
}

void importCast(NodeContext &node) {
  giveCast(node, static_cast<model::ElementType>(node.node.attrInt("to")));
}

void importCastLike(NodeContext &node) {
  if (node.narrowType(1) != model::ElementType::Undefined)
    return giveCast(node, node.narrowType(1));
  node.setResult(0, castTo(node, numbersOf(node, 0), elementOf(node.require(1))));
}

/// Codes of less than a byte lie in one: integers there by their value, which has the bits.
void importBitCast(NodeContext &node) {
  auto to = static_cast<model::ElementType>(node.node.attrInt("to"));
  model::ElementType from = node.narrowType(0);
  Value x = node.require(0);
  bool narrow = model::isNarrow(to);
  unsigned bits = model::isNarrow(from)                         ? model::dtypeBits(from)
                  : tensorType(x).getElementType().isInteger(1) ? 8
                                                                : tensorType(x).getElementTypeBitWidth();
  if (model::dtypeBits(to) != bits)
    node.fail("reads elements of {} bits as {}, expected a type of the same width", bits,
              model::dtypeName(to));
  if (bits < 8 && model::narrowInteger(to))
    return node.setResult(0, ImportedValue{toNarrow(node, x, to), std::nullopt, to});
  if (bits < 8)
    x = toNarrow(node, x, bits == 4 ? model::ElementType::UInt4 : model::ElementType::UInt2);
  Type element = narrow ? storedType(*node.builder.getContext(), to) : node.elementType(to);
  if (elementOf(x) != element)
    x = onnx::BitCastOp::create(node.builder, node.loc, x, TypeAttr::get(element));
  node.setResult(0, ImportedValue{x, std::nullopt, narrow ? to : model::ElementType::Undefined});
}
} // namespace

void kedge::importer::registerNarrowImporters(NodeImporters &importers) {
  importers.add("Cast", importCast);
  importers.add("CastLike", importCastLike);
  importers.add("BitCast", importBitCast);
}
