// Weights in few bits, in blocks with a scale each, as DequantizeLinear of ONNX. Their codes stay where they
// lie in the file.
#include "lib/Model/Microsoft/Quantised.h"
#include "lib/Model/Specialize.h"

namespace kedge::model {

std::optional<ElementType> codesOf(int64_t bits) {
  switch (bits) {
  case 2:
    return ElementType::UInt2;
  case 4:
    return ElementType::UInt4;
  case 8:
    return ElementType::UInt8;
  default:
    return std::nullopt;
  }
}

const Tensor &constant(const Parts &parts, size_t k) {
  const Tensor *tensor = parts.around.initializer(parts.in(k));
  if (!tensor)
    parts.refuse(fmt::format("its input {} ('{}') is no initializer", k, parts.in(k)));
  return *tensor;
}

/// ONNX packs codes of less than a byte as onnxruntime does: the first in the lowest bits.
std::string retyped(Parts &parts, const Tensor &bytes, ElementType type, const std::vector<int64_t> &dims) {
  int64_t bits = dtypeBits(type);
  for (int64_t size : dims)
    bits *= size;
  if (static_cast<uint64_t>((bits + 7) / 8) != bytes.byteSize())
    parts.refuse(
        fmt::format("{} has {} bytes, expected {}", bytes.describe(), bytes.byteSize(), (bits + 7) / 8));
  return parts.around.retyped(bytes, type, dims);
}

ZeroPoints zeroPoints(Parts &parts, size_t k, const CodeBlocks &of) {
  if (!parts.has(k))
    return {"", {Attribute::makeInt(zeroPointKey, int64_t(1) << (of.bits - 1))}};
  const Tensor &points = constant(parts, k);
  if (points.dtype != ElementType::UInt8)
    parts.refuse(fmt::format("zero points of type {} are not supported", dtypeName(points.dtype)));
  const int64_t held = (of.blocks * of.bits + 7) / 8 * 8 / of.bits;
  return {retyped(parts, points, of.type, {of.rows, held}),
          {Attribute::makeInt(paddedPointsKey, held != of.blocks)}};
}

std::string dequantized(Parts &parts, const std::string &codes, const std::string &scales, ZeroPoints points,
                        int64_t axis, int64_t block) {
  points.attributes.push_back(Attribute::makeInt("axis", axis));
  points.attributes.push_back(Attribute::makeInt("block_size", block));
  Parts::Values inputs = {codes, scales};
  if (!points.value.empty())
    inputs.push_back(points.value);
  return parts.make("DequantizeLinear", inputs, std::move(points.attributes));
}

namespace {

void matMulNBits(Parts &parts) {
  parts.takesOnly(6, 1, {"K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked"});
  if (parts.has(4) || parts.node.attrInt("weight_prepacked", 0) != 0)
    parts.refuse("weights in another order (g_idx, weight_prepacked) are not supported");
  const int64_t bits = parts.node.attrInt("bits", 4), width = parts.node.attrInt("K"),
                size = parts.node.attrInt("block_size");
  const auto type = codesOf(bits);
  if (!type)
    parts.refuse(fmt::format("codes of {} bits are not supported", bits));
  const CodeBlocks blocks = {*type, bits, parts.node.attrInt("N"), (width + size - 1) / size, size};
  const std::string codes = retyped(parts, constant(parts, 1), *type, {blocks.rows, blocks.blocks * size});
  const Tensor *known = parts.around.initializer(parts.in(2));
  const std::string scales =
      known ? retyped(parts, *known, known->dtype, {blocks.rows, blocks.blocks})
            : parts.make("Reshape", {parts.in(2), parts.ints({blocks.rows, blocks.blocks})});
  std::string weight = dequantized(parts, codes, scales, zeroPoints(parts, 3, blocks), 1, size);
  if (blocks.blocks * size != width)
    weight = parts.make("Slice", {weight, parts.ints({0}), parts.ints({width}), parts.ints({1})});
  const std::string columns = parts.make("Transpose", {weight}, {Attribute::makeInts("perm", {1, 0})});
  parts.give(0, parts.addMaybe(parts.make("MatMul", {parts.in(0), columns}), 5));
}

/// Rows of a table in few bits: codes, scales and zero points are gathered, and what was chosen is
/// dequantised.
void gatherBlockQuantized(Parts &parts) {
  parts.takesOnly(4, 1, {"bits", "block_size", "gather_axis", "quantize_axis"});
  const Tensor &data = constant(parts, 0), &scales = constant(parts, 2);
  const int64_t bits = parts.node.attrInt("bits", 4), axis = parts.node.attrInt("quantize_axis", 1);
  const auto rank = static_cast<int64_t>(data.dims.size());
  if (parts.node.attrInt("gather_axis", 0) != 0 || rank != 2 || (axis != 1 && axis != -1))
    parts.refuse(
        "tables of other than two dimensions, whose rows are gathered and quantised, are not supported");
  const bool isPacked = data.dtype == ElementType::UInt8;
  const auto type = isPacked ? codesOf(bits) : std::optional(data.dtype);
  if (!type)
    parts.refuse(fmt::format("codes of {} bits are not supported", bits));
  const CodeBlocks blocks = {*type, bits, data.dims[0], scales.dims[1],
                             parts.node.attrInt("block_size", 128)};
  const int64_t width = isPacked ? data.dims[1] * 8 / bits : data.dims[1];
  const std::string codes = retyped(parts, data, *type, {data.dims[0], width});
  auto rows = [&](const std::string &table) { return parts.make("Gather", {table, parts.in(1)}); };
  ZeroPoints points;
  if (isPacked)
    points = zeroPoints(parts, 3, blocks);
  else if (parts.has(3))
    points.value = parts.in(3);
  if (!points.value.empty())
    points.value = rows(points.value);
  const std::string chosen = rows(codes);
  parts.give(0, dequantized(parts, chosen, rows(scales.name), std::move(points), -1, blocks.size));
}

/// onnxruntime's own, which had types before ONNX had them.
void sameQuantised(Parts &parts) {
  parts.takesOnly(3, 1, {"axis", "block_size"});
  parts.give(0, parts.make(parts.node.opType, parts.node.inputs, parts.node.attributes));
}

} // namespace

void addQuantised(LoweringTable &table) {
  table["MatMulNBits"] = matMulNBits;
  table["GatherBlockQuantized"] = gatherBlockQuantized;
  table["DequantizeLinear"] = sameQuantised;
  table["QuantizeLinear"] = sameQuantised;
}

} // namespace kedge::model
