#include "runtime/calls/AttentionShape.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt::calls {
namespace {

/// Sizes and strides of one operand.
struct Heads {
  int64_t batch, heads, length, depth;
  HeadView view;
};

Heads readHeads(const LibraryCall &call, const TensorDesc &tensor, const char *layoutName,
                int64_t headCount) {
  const Shape &s = tensor.shape;
  if (s.size() == 3) {
    if (headCount < 1 || s[2] % headCount != 0)
      failCall(call, "a row of {} is not {} heads: q_num_heads, kv_num_heads", s[2], headCount);
    int64_t depth = s[2] / headCount;
    return {s[0], headCount, s[1], depth, {0, s[1] * s[2], depth, s[2]}};
  }
  if (s.size() != 4)
    failCall(call, "an operand of rank {}, expected 3 or 4", s.size());
  std::string layout = stringAttr(call, layoutName, "bhtd");
  if (layout == "bthd")
    return {s[0], s[2], s[1], s[3], {0, s[1] * s[2] * s[3], s[3], s[2] * s[3]}};
  if (layout != "bhtd")
    failCall(call, "{} '{}', expected bhtd or bthd", layoutName, layout);
  return {s[0], s[1], s[2], s[3], {0, s[1] * s[2] * s[3], s[2] * s[3], s[3]}};
}

void readPacked(const LibraryCall &call, const TensorDesc &qkv, AttentionShape &shape, int64_t qHeads,
                int64_t kvHeads) {
  const Shape &s = qkv.shape;
  if (s.size() != 3 || qHeads < 1 || kvHeads < 1 || s[2] % (qHeads + 2 * kvHeads) != 0)
    failCall(call, "packed: expected [batch, tokens, (q_num_heads + 2 kv_num_heads) * depth]");
  int64_t depth = s[2] / (qHeads + 2 * kvHeads);
  shape.batch = s[0], shape.queries = shape.keys = s[1];
  shape.queryHeads = qHeads, shape.keyHeads = kvHeads;
  shape.depth = shape.valueDepth = depth;
  shape.q = {0, s[1] * s[2], depth, s[2]};
  shape.k = {qHeads * depth, s[1] * s[2], depth, s[2]};
  shape.v = {(qHeads + kvHeads) * depth, s[1] * s[2], depth, s[2]};
}

AttentionMask readMask(const LibraryCall &call, const AttentionShape &shape, size_t maskOperand) {
  AttentionMask mask;
  mask.index = inputIndex(call, maskOperand);
  if (mask.index < 0)
    return mask;
  const TensorDesc &tensor = call.inputs[mask.index];
  mask.type = tensor.type;
  if (mask.type != DType::Bool && mask.type != DType::F32 && mask.type != call.inputs[0].type)
    failCall(call, "a mask of {}: expected bool, f32 or the type of Q", dtypeName(mask.type));
  Shape own = tensor.shape;
  if (own.size() > 4)
    failCall(call, "a mask of rank {}, expected 4 or less", own.size());
  own.insert(own.begin(), 4 - own.size(), 1);
  Shape full = {shape.batch, shape.queryHeads, shape.queries, shape.keys}, strides = rowMajorStrides(own);
  for (size_t d = 0; d < 4; ++d) {
    if (own[d] != 1 && own[d] != full[d])
      failCall(call, "the mask's dimension {} does not broadcast to {}", own[d], full[d]);
    if (own[d] == 1)
      strides[d] = 0;
  }
  mask.batch = strides[0], mask.head = strides[1], mask.query = strides[2], mask.key = strides[3];
  return mask;
}

AttentionDropout readDropout(const LibraryCall &call, int64_t batch, size_t firstOperand) {
  AttentionDropout dropout;
  float ratio = static_cast<float>(floatAttr(call, "ratio", 0));
  if (!(ratio >= 0 && ratio <= 1))
    failCall(call, "ratio {}, expected one of [0, 1]", ratio);
  dropout.firstInput = inputIndex(call, firstOperand);
  if ((ratio > 0) != (dropout.firstInput >= 0))
    failCall(call, "ratio {} {} seed, step and row_base", ratio, ratio > 0 ? "without" : "with");
  if (ratio == 0)
    return dropout;
  for (size_t k = firstOperand; k < firstOperand + 3; ++k)
    if (const TensorDesc &counter = input(call, k); counter.type != DType::I64 || product(counter.shape) != 1)
      failCall(call, "seed, step and row_base are one i64 each");
  dropout.opId = static_cast<uint32_t>(intAttr(call, "op_id", 0));
  dropout.rowSize = intAttr(call, "row_size", 1);
  if (dropout.rowSize < 1 || batch % dropout.rowSize != 0)
    failCall(call, "row_size {} does not divide the batch of {}", dropout.rowSize, batch);
  // uniform(word) >= ratio in whole numbers; both sides are exact.
  dropout.smallest = static_cast<uint32_t>(std::ceil(static_cast<double>(ratio) * 0x1p24));
  dropout.kept = ratio < 1 ? 1 / (1 - static_cast<double>(ratio)) : 0;
  return dropout;
}

/// {left, right}, each where it is a bound.
void readVisible(const LibraryCall &call, AttentionShape &shape) {
  for (const char *old : {"causal", "causal_offset"})
    if (call.attrs.contains(old))
      failCall(call, "attribute '{}': expected visible, with left and right", old);
  auto found = call.attrs.find("visible");
  if (found == call.attrs.end())
    return;
  shape.left = found->value("left", AttentionShape::kAll);
  shape.right = found->value("right", AttentionShape::kAll);
}

void readBorders(const LibraryCall &call, AttentionShape &shape, size_t operand) {
  shape.documents = inputIndex(call, operand);
  if (shape.documents < 0)
    return;
  const TensorDesc &borders = call.inputs[shape.documents];
  if (shape.queries != shape.keys || borders.type != DType::I64)
    failCall(call, "documents: expected i64 borders, and as many queries as keys");
  expectShape(call, borders, {shape.batch, shape.queries + 1}, "documents");
}

void readPlaces(const LibraryCall &call, AttentionShape &shape, size_t operand) {
  shape.places = inputIndex(call, operand);
  if (shape.places < 0)
    return;
  const TensorDesc &places = call.inputs[shape.places];
  if (places.type != DType::I64 || places.shape.size() != 1 || places.shape[0] < 1 ||
      shape.queries % places.shape[0] != 0 || shape.documents >= 0 || shape.drops())
    failCall(call, "places: expected i64 [C], with as many queries in each of C runs, without documents and "
                   "dropout");
  shape.runs = places.shape[0];
}

void readSinks(const LibraryCall &call, AttentionShape &shape, size_t operand) {
  shape.sinks = inputIndex(call, operand);
  if (shape.sinks < 0)
    return;
  const TensorDesc &sinks = call.inputs[shape.sinks];
  if (!isFloat(sinks.type))
    failCall(call, "sinks of {}: expected floats", dtypeName(sinks.type));
  expectShape(call, sinks, {shape.queryHeads}, "sinks");
  shape.sinkType = sinks.type;
}

} // namespace

DropoutRow AttentionShape::dropoutRow(const void *const *inputs, int64_t b) const {
  auto counter = [&](int k) {
    return static_cast<uint64_t>(*static_cast<const int64_t *>(inputs[dropout.firstInput + k]));
  };
  auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  uint64_t seed = counter(0), step = counter(1),
           row = counter(2) + static_cast<uint64_t>(b / dropout.rowSize);
  return {{low(seed), dropout.opId ^ high(seed)}, low(row), {low(step), high(step)}, dropout.smallest};
}

AttentionShape readAttention(const LibraryCall &call, size_t first, const TensorDesc &o, size_t maskOperand) {
  AttentionShape shape{};
  int64_t qHeads = intAttr(call, "q_num_heads", 0), kvHeads = intAttr(call, "kv_num_heads", qHeads);
  shape.packed = boolAttr(call, "packed", false);
  if (shape.packed) {
    readPacked(call, call.inputs[first], shape, qHeads, kvHeads);
  } else {
    Heads q = readHeads(call, call.inputs[first], "q_layout", qHeads);
    Heads k = readHeads(call, call.inputs[first + 1], "k_layout", kvHeads);
    Heads v = readHeads(call, call.inputs[first + 2], "v_layout", kvHeads);
    if (k.batch != q.batch || v.batch != q.batch || v.heads != k.heads || v.length != k.length ||
        k.depth != q.depth)
      failCall(call, "Q, K and V do not fit each other");
    shape.batch = q.batch, shape.queryHeads = q.heads, shape.keyHeads = k.heads;
    shape.queries = q.length, shape.keys = k.length, shape.depth = q.depth, shape.valueDepth = v.depth;
    shape.q = q.view, shape.k = k.view, shape.v = v.view;
  }
  if (shape.keyHeads < 1 ? shape.queryHeads != 0 : shape.queryHeads % shape.keyHeads != 0)
    failCall(call, "{} query heads are no multiple of {} key heads", shape.queryHeads, shape.keyHeads);
  Heads out = readHeads(call, o, "o_layout", shape.queryHeads);
  if (out.batch != shape.batch || out.heads != shape.queryHeads || out.length != shape.queries ||
      out.depth != shape.valueDepth)
    failCall(call, "O does not fit Q and V");
  shape.o = out.view;
  shape.scale =
      floatAttr(call, "scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, shape.depth))));
  shape.softcap = floatAttr(call, "softcap", 0);
  readVisible(call, shape);
  shape.mask = readMask(call, shape, maskOperand);
  shape.dropout = readDropout(call, shape.batch, maskOperand + 1);
  // An operand that may be several counts once where it is none.
  const size_t behind = maskOperand + 1 + (shape.drops() ? 3 : 1);
  readBorders(call, shape, behind);
  readPlaces(call, shape, behind + 1);
  readSinks(call, shape, behind + 2);
  return shape;
}

} // namespace kedge::rt::calls
