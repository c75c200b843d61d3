// Weights in few bits, in blocks with a scale each, as DequantizeLinear of ONNX. Their codes stay where they
// lie in the file.
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {
namespace {

/// Unsigned codes of so many bits; nullopt for those that do not fill bytes evenly.
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

/// Bytes of a file as what they hold. ONNX packs codes of less than a byte as onnxruntime does: the first in
/// the lowest bits.
std::string retyped(Parts &parts, const Tensor &bytes, ElementType type, std::vector<int64_t> dims) {
  if (bytes.dtype == type && bytes.dims == dims)
    return bytes.name;
  Tensor codes = bytes;
  codes.name = parts.around.fresh(bytes.name + "/codes");
  codes.dtype = type;
  codes.dims = std::move(dims);
  codes.place = 0;
  if (codes.storage == Tensor::Storage::Encoded) {
    const Bytes plain = bytes.bytes();
    codes.owned = std::make_shared<const std::vector<uint8_t>>(plain.data, plain.data + plain.size);
    codes.storage = Tensor::Storage::Owned;
  }
  if (codes.byteSize() != bytes.byteSize())
    parts.refuse(
        fmt::format("{} has {} bytes, expected {}", bytes.describe(), bytes.byteSize(), codes.byteSize()));
  parts.around.made.push_back(codes);
  return codes.name;
}

/// The zero point that stands for none given: in the middle.
std::string middle(Parts &parts, ElementType type, int64_t bits, std::vector<int64_t> dims) {
  const int64_t zero = int64_t(1) << (bits - 1);
  int64_t byte = 0;
  for (int64_t at = 0; at < 8; at += bits)
    byte |= zero << at;
  int64_t codes = 1;
  for (int64_t size : dims)
    codes *= size;
  const std::string name = parts.around.fresh(parts.node.output(0) + "/zero_points");
  const auto size = static_cast<size_t>((codes * bits + 7) / 8);
  parts.around.made.push_back(
      Tensor::make(name, type, std::move(dims), std::vector<uint8_t>(size, static_cast<uint8_t>(byte))));
  return name;
}

struct Blocks {
  ElementType type;
  int64_t bits, rows, blocks, size; ///< blocks of a row
};

/// Input k: packed zero points, a whole number of bytes a row.
std::string zeroPoints(Parts &parts, size_t k, const Blocks &of) {
  if (!parts.has(k))
    return middle(parts, of.type, of.bits, {of.rows, of.blocks});
  const Tensor &points = constant(parts, k);
  if (points.dtype != ElementType::UInt8)
    parts.refuse(fmt::format("zero points of type {} are not supported", dtypeName(points.dtype)));
  const int64_t held = (of.blocks * of.bits + 7) / 8 * 8 / of.bits;
  const std::string all = retyped(parts, points, of.type, {of.rows, held});
  if (held == of.blocks)
    return all;
  return parts.make("Slice", {all, parts.ints({0}), parts.ints({of.blocks}), parts.ints({1})});
}

void matMulNBits(Parts &parts) {
  parts.takesOnly(6, 1, {"K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked"});
  if (parts.has(4) || parts.node.attrInt("weight_prepacked", 0) != 0)
    parts.refuse("weights in another order (g_idx, weight_prepacked) are not supported");
  const int64_t bits = parts.node.attrInt("bits", 4), width = parts.node.attrInt("K"),
                size = parts.node.attrInt("block_size");
  const auto type = codesOf(bits);
  if (!type)
    parts.refuse(fmt::format("codes of {} bits are not supported", bits));
  const Blocks blocks = {*type, bits, parts.node.attrInt("N"), (width + size - 1) / size, size};
  const std::string codes = retyped(parts, constant(parts, 1), *type, {blocks.rows, blocks.blocks * size});
  const std::string scales = parts.make("Reshape", {parts.in(2), parts.ints({blocks.rows, blocks.blocks})});
  std::string weight = parts.make("DequantizeLinear", {codes, scales, zeroPoints(parts, 3, blocks)},
                                  {Attribute::makeInt("axis", 1), Attribute::makeInt("block_size", size)});
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
  const Blocks blocks = {*type, bits, data.dims[0], scales.dims[1], parts.node.attrInt("block_size", 128)};
  const int64_t width = isPacked ? data.dims[1] * 8 / bits : data.dims[1];
  const std::string codes = retyped(parts, data, *type, {data.dims[0], width});
  auto rows = [&](const std::string &table) { return parts.make("Gather", {table, parts.in(1)}); };
  Parts::Values inputs = {rows(codes), rows(scales.name)};
  if (isPacked)
    inputs.push_back(rows(zeroPoints(parts, 3, blocks)));
  else if (parts.has(3))
    inputs.push_back(rows(parts.in(3)));
  parts.give(0, parts.make("DequantizeLinear", inputs,
                           {Attribute::makeInt("axis", -1), Attribute::makeInt("block_size", blocks.size)}));
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
