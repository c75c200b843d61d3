// ONNX Attention in 3-D and 4-D form, with caches and masks, as train.Attention; what only the score output
// needs is composed from primitives.
#include "CompositeAttention.h"
#include "MovementUtils.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/LogicOps.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/GradientOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// Builds one node's ops; operands are [B, H, T, D], or [B, T, H, D] where `layout` says bthd.
class AttentionImport {
public:
  explicit AttentionImport(NodeContext &c) : c(c), builder(c.builder), loc(c.loc) {}
  void run();

private:
  Value heads(size_t k, const char *attribute);
  Value transposed(Value v) { return transpose(builder, loc, v, {0, 2, 1, 3}); }
  void appendCaches();
  Value paddedMask(Value mask);
  Value mask();
  Value keysInUse();
  Value scores();

  NodeContext &c;
  OpBuilder &builder;
  Location loc;
  Value q, k, v;
  std::string qLayout = "bhtd", kvLayout = "bhtd";
  int64_t causalOffset = 0;
  bool causal = false;
  double scale = 0, softcap = 0;

  int64_t queries() { return shapeOf(q)[qLayout == "bhtd" ? 2 : 1]; }
  int64_t keys() { return shapeOf(k)[kvLayout == "bhtd" ? 2 : 1]; }
};

/// A 3-D operand [B, T, H*D] as [B, T, H, D].
Value AttentionImport::heads(size_t index, const char *attribute) {
  Value x = c.require(index);
  if (rankOf(x) == 4)
    return x;
  int64_t count = c.node.attrInt(attribute, 0);
  if (rankOf(x) != 3 || count <= 0 || shapeOf(x)[2] % count != 0)
    c.fail("operand {} has rank {}: expected 4, or 3 with {} that divides its last dimension", index,
           rankOf(x), attribute);
  return reshape(builder, loc, x, {shapeOf(x)[0], shapeOf(x)[1], count, shapeOf(x)[2] / count});
}

/// present = past followed by the new keys and values, [B, H, T, D]; results 1 and 2.
void AttentionImport::appendCaches() {
  Value pastKey = c.operand(4), pastValue = c.operand(5);
  bool wanted = c.node.hasOutput(1) || c.node.hasOutput(2);
  if (!pastKey != !pastValue)
    c.fail("past_key and past_value must be given together");
  if (!pastKey && !wanted)
    return;
  if (kvLayout == "bthd") {
    k = transposed(k);
    v = transposed(v);
    kvLayout = "bhtd";
  }
  if (pastKey) {
    causalOffset = shapeOf(pastKey)[2];
    k = ConcatOp::create(builder, loc, ValueRange{pastKey, k}, 2);
    v = ConcatOp::create(builder, loc, ValueRange{pastValue, v}, 2);
  }
  if (c.node.hasOutput(1))
    c.setResult(1, k);
  if (c.node.hasOutput(2))
    c.setResult(2, v);
}

/// A mask that names fewer keys hides the others.
Value AttentionImport::paddedMask(Value given) {
  int64_t missing = rankOf(given) == 0 ? 0 : keys() - shapeOf(given).back();
  if (missing <= 0 || shapeOf(given).back() == 1)
    return given;
  SmallVector<int64_t> shape(shapeOf(given));
  shape.back() = missing;
  bool isBool = elementOf(given).isInteger(1);
  Value hidden = splat(builder, loc, tensorType(given).clone(shape),
                       isBool ? 0 : -std::numeric_limits<double>::infinity());
  return ConcatOp::create(builder, loc, ValueRange{given, hidden}, rankOf(given) - 1);
}

/// bool [B, 1, Tq or 1, Tk]: which keys of an external cache count; causal from their end when asked.
Value AttentionImport::keysInUse() {
  Value lengths = c.operand(6);
  if (!lengths)
    return {};
  Value used = reshape(builder, loc, CastOp::create(builder, loc, lengths, builder.getI64Type()),
                       {elementCount(shapeOf(lengths)), 1, 1, 1});
  SmallVector<int64_t> positions = llvm::to_vector(llvm::seq<int64_t>(0, keys()));
  Value key = c.constantInts1d(positions);
  Value inUse = LessOp::create(builder, loc, key, used);
  if (!causal)
    return inUse;
  causal = false;
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(-queries(), 0));
  Value row = reshape(builder, loc, c.constantInts1d(rows), {queries(), 1});
  Value last = AddOp::create(builder, loc, used, row);
  return AndOp::create(builder, loc, inUse, LessOrEqualOp::create(builder, loc, key, last));
}

Value AttentionImport::mask() {
  Value given = c.operand(3), used = keysInUse();
  if (given)
    given = paddedMask(given);
  if (!given || !used)
    return given ? given : used;
  if (elementOf(given).isInteger(1))
    return AndOp::create(builder, loc, given, used);
  Value hidden = scalarLike(builder, loc, given, -std::numeric_limits<double>::infinity());
  return WhereOp::create(builder, loc, used, given, hidden);
}

/// scale Q K^T [B, Hq, Tq, Tk], for the optional score output only.
Value AttentionImport::scores() {
  Value query = qLayout == "bhtd" ? q : transposed(q), key = kvLayout == "bhtd" ? k : transposed(k);
  int64_t group = shapeOf(query)[1] / shapeOf(key)[1];
  if (group > 1) {
    SmallVector<int64_t> s(shapeOf(key));
    Value parts = reshape(builder, loc, key, {s[0], s[1], 1, s[2], s[3]});
    parts = expand(builder, loc, parts, {s[0], s[1], group, s[2], s[3]});
    key = reshape(builder, loc, parts, {s[0], s[1] * group, s[2], s[3]});
  }
  Value product = MatMulOp::create(builder, loc, query, key, false, true);
  return MulOp::create(builder, loc, product, scalarLike(builder, loc, product, scale));
}
} // namespace

void AttentionImport::run() {
  q = heads(0, "q_num_heads");
  k = heads(1, "kv_num_heads");
  v = heads(2, "kv_num_heads");
  bool flat = rankOf(c.require(0)) == 3;
  if (flat)
    qLayout = kvLayout = "bthd";
  if (c.node.attrInt("left_window_size", -1) >= 0 || c.node.attrInt("right_window_size", -1) >= 0)
    c.unsupported("Attention with a sliding window");
  causal = c.node.attrBool("is_causal", false);
  softcap = c.node.attrFloat("softcap", 0.0f);
  scale =
      c.node.has("scale") ? double(c.node.attrFloat("scale")) : 1.0 / std::sqrt(double(shapeOf(q).back()));
  appendCaches();
  int64_t mode = c.node.attrInt("qk_matmul_output_mode", 0);
  bool wantsScores = c.node.hasOutput(3);
  if (wantsScores && mode != 0 && !(mode == 1 && softcap == 0))
    c.unsupported("Attention with qk_matmul_output_mode " + std::to_string(mode));
  Value hidden = mask();
  auto op =
      train::AttentionOp::create(builder, loc, q, k, v, hidden, ValueRange(), llvm::APFloat(scale), causal, causalOffset,
                                 llvm::APFloat(softcap), qLayout, kvLayout, kvLayout, qLayout,
                                 /*ratio=*/llvm::APFloat(0.0f), /*op_id=*/0, /*row_size=*/1, /*training_mode=*/false);
  Value y = op.getO();
  if (flat)
    y = reshape(builder, loc, y, {shapeOf(y)[0], shapeOf(y)[1], shapeOf(y)[2] * shapeOf(y)[3]});
  c.setResult(0, y);
  if (wantsScores)
    c.setResult(3, scores());
}

void kedge::importAttention(NodeContext &c) { AttentionImport(c).run(); }

void kedge::importRotaryEmbedding(NodeContext &c) {
  OpBuilder &builder = c.builder;
  Location loc = c.loc;
  Value given = c.require(0), x = given, cos = c.require(1), sin = c.require(2);
  bool flat = rankOf(x) == 3;
  if (flat) {
    int64_t heads = c.node.attrInt("num_heads", 0);
    if (heads <= 0 || shapeOf(x)[2] % heads != 0)
      c.fail("a 3-D input needs num_heads that divides its last dimension, found {}", heads);
    x = reshape(builder, loc, x, {shapeOf(x)[0], shapeOf(x)[1], heads, shapeOf(x)[2] / heads});
  }
  if (Value positions = c.operand(3)) {
    cos = GatherOp::create(builder, loc, cos, positions, 0, IntegerAttr());
    sin = GatherOp::create(builder, loc, sin, positions, 0, IntegerAttr());
  }
  if (rankOf(x) != 4 || rankOf(cos) != 3 || rankOf(sin) != 3)
    c.fail("expected an input of rank 3 or 4 and angles [batch, sequence, half], found ranks {}, {}, {}",
           rankOf(x), rankOf(cos), rankOf(sin));
  auto perHead = [&](Value angles) {
    SmallVector<int64_t> shape(shapeOf(angles));
    shape.insert(shape.begin() + (flat ? 2 : 1), 1);
    return reshape(builder, loc, angles, shape);
  };
  int64_t size = shapeOf(x).back(), rotated = c.node.attrInt("rotary_embedding_dim", 0);
  if (rotated == 0)
    rotated = size;
  Value head = sliceAxis(builder, loc, x, 3, 0, rotated);
  Value y = train::RotaryOp::create(builder, loc, head, head, perHead(cos), perHead(sin),
                                    c.node.attrBool("interleaved", false), false);
  if (rotated != size)
    y = ConcatOp::create(builder, loc, ValueRange{y, sliceAxis(builder, loc, x, 3, rotated, size)}, 3);
  c.setResult(0, reshape(builder, loc, y, shapeOf(given)));
}
