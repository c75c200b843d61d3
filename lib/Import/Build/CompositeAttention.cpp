// ONNX Attention in 3-D and 4-D form, with caches and masks, as train.attention; what only the score output
// needs is composed from primitives.
#include "lib/Import/Build/CompositeAttention.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Import/Build/MovementUtils.h"
#include <cmath>
#include <limits>
#include <utility>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;
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
  Value mask(bool withBand);
  Value visibleKeys(bool withBand);
  train::Visible band();
  Value both(Value a, Value b) { return a && b ? Value(AndOp::create(builder, loc, a, b)) : a ? a : b; }
  Value bias();
  Value scores(int64_t mode);

  NodeContext &c;
  OpBuilder &builder;
  Location loc;
  Value q, k, v;
  using enum train::AttentionLayout;
  train::AttentionLayout qLayout = BHTD, kvLayout = BHTD;
  int64_t causalOffset = 0, left = -1, right = -1; // how far a query sees; -1: to the end
  bool causal = false;
  double scale = 0, softcap = 0;

  int64_t queries() { return shapeOf(q)[qLayout == BHTD ? 2 : 1]; }
  int64_t keys() { return shapeOf(k)[kvLayout == BHTD ? 2 : 1]; }
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
  if (pastKey && shapeOf(pastKey)[2] == 0) // nothing is behind
    pastKey = pastValue = Value();
  if (!pastKey && !wanted)
    return;
  if (kvLayout == BTHD) {
    k = transposed(k);
    v = transposed(v);
    kvLayout = BHTD;
  }
  if (pastKey) {
    causalOffset = shapeOf(pastKey)[2];
    k = concat(builder, loc, ValueRange{pastKey, k}, 2);
    v = concat(builder, loc, ValueRange{pastValue, v}, 2);
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

/// What causality and the window leave, where no length of a cache moves the queries.
train::Visible AttentionImport::band() {
  train::Visible visible;
  if (c.operand(6))
    return visible;
  if (left >= 0)
    visible.left = left - causalOffset;
  if (right >= 0)
    visible.right = right + causalOffset;
  return causal ? visible & train::Visible::causal(causalOffset) : visible;
}

/// bool, broadcasting to [B, H, Tq, Tk]: keys that a cache's lengths and, asked for or behind lengths, the
/// window leave; null: all. Lengths move queries to the end of their keys, and then stand for causality, too.
Value AttentionImport::visibleKeys(bool withBand) {
  Value lengths = c.operand(6);
  bool window = withBand && (left >= 0 || right >= 0);
  if (!lengths && !window)
    return {};
  Value key = c.constantInts1d(llvm::to_vector(llvm::seq<int64_t>(0, keys())));
  int64_t first = lengths ? -queries() : causalOffset;
  Value at =
      reshape(builder, loc, c.constantInts1d(llvm::to_vector(llvm::seq<int64_t>(first, first + queries()))),
              {queries(), 1});
  Value visible;
  if (lengths) {
    Value used = reshape(builder, loc, CastOp::create(builder, loc, lengths, builder.getI64Type()),
                         {elementCount(shapeOf(lengths)), 1, 1, 1});
    visible = LessOp::create(builder, loc, key, used);
    at = AddOp::create(builder, loc, used, at);
    if (std::exchange(causal, false))
      visible = both(visible, LessOrEqualOp::create(builder, loc, key, at));
  }
  auto moved = [&](int64_t by) -> Value {
    return AddOp::create(builder, loc, at, scalarLike(builder, loc, at, by));
  };
  if (left >= 0)
    visible = both(visible, GreaterOrEqualOp::create(builder, loc, key, moved(-left)));
  if (right >= 0)
    visible = both(visible, LessOrEqualOp::create(builder, loc, key, moved(right)));
  return visible;
}

Value AttentionImport::mask(bool withBand) {
  Value given = c.operand(3), used = visibleKeys(withBand);
  if (given && isa<IntegerType>(elementOf(given)) && !elementOf(given).isInteger(1)) // numbers are added
    given = CastOp::create(builder, loc, given, elementOf(q));
  if (given)
    given = paddedMask(given);
  if (!given || !used)
    return given ? given : used;
  if (elementOf(given).isInteger(1))
    return AndOp::create(builder, loc, given, used);
  Value hidden = scalarLike(builder, loc, given, -std::numeric_limits<double>::infinity());
  return WhereOp::create(builder, loc, used, given, hidden);
}

/// What is added to the scores before the softmax, causality with it; null: nothing.
Value AttentionImport::bias() {
  Value masked = mask(/*withBand=*/true);
  if (causal) {
    Value key = c.constantInts1d(llvm::to_vector(llvm::seq<int64_t>(0, keys())));
    Value row = c.constantInts1d(llvm::to_vector(llvm::seq<int64_t>(causalOffset, causalOffset + queries())));
    Value before = LessOrEqualOp::create(builder, loc, key, reshape(builder, loc, row, {queries(), 1}));
    if (masked && !elementOf(masked).isInteger(1)) {
      Value hidden = scalarLike(builder, loc, masked, -std::numeric_limits<double>::infinity());
      return WhereOp::create(builder, loc, before, masked, hidden);
    }
    masked = both(masked, before);
  }
  if (!masked || !elementOf(masked).isInteger(1))
    return masked;
  return WhereOp::create(builder, loc, masked, scalarLike(builder, loc, q, 0),
                         scalarLike(builder, loc, q, -std::numeric_limits<double>::infinity()));
}

/// The optional output [B, Hq, Tq, Tk]: scale Q K^T (mode 0), capped (1), with the bias (2), as probabilities
/// (3).
Value AttentionImport::scores(int64_t mode) {
  Value query = qLayout == BHTD ? q : transposed(q), key = kvLayout == BHTD ? k : transposed(k);
  int64_t group = shapeOf(query)[1] / shapeOf(key)[1];
  if (group > 1) {
    SmallVector<int64_t> s(shapeOf(key));
    Value parts = reshape(builder, loc, key, {s[0], s[1], 1, s[2], s[3]});
    parts = expand(builder, loc, parts, {s[0], s[1], group, s[2], s[3]});
    key = reshape(builder, loc, parts, {s[0], s[1] * group, s[2], s[3]});
  }
  Value product = MatMulOp::create(builder, loc, query, key, false, true);
  Value found = MulOp::create(builder, loc, product, scalarLike(builder, loc, product, scale));
  if (mode >= 1 && softcap != 0) {
    Value cap = scalarLike(builder, loc, found, softcap);
    found = MulOp::create(builder, loc, cap,
                          TanhOp::create(builder, loc, DivOp::create(builder, loc, found, cap)));
  }
  if (mode < 2)
    return found;
  Value added = bias();
  if (added)
    found = AddOp::create(builder, loc, found, added);
  if (mode == 2)
    return found;
  Value weights = SoftmaxOp::create(builder, loc, found, builder.getI64IntegerAttr(3));
  if (!added)
    return weights;
  // A row that sees no key is zero.
  Value highest = ReduceMaxOp::create(builder, loc, added, ArrayRef<int64_t>{rankOf(added) - 1}, true);
  Value sees = GreaterOp::create(builder, loc, highest,
                                 scalarLike(builder, loc, highest, -std::numeric_limits<double>::infinity()));
  return WhereOp::create(builder, loc, sees, weights, scalarLike(builder, loc, weights, 0));
}
} // namespace

void AttentionImport::run() {
  q = heads(0, "q_num_heads");
  k = heads(1, "kv_num_heads");
  v = heads(2, "kv_num_heads");
  bool flat = rankOf(c.require(0)) == 3;
  if (flat)
    qLayout = kvLayout = BTHD;
  left = c.node.attrInt("left_window_size", -1);
  right = c.node.attrInt("right_window_size", -1);
  causal = c.node.attrBool("is_causal", false);
  softcap = c.node.attrFloat("softcap", 0.0f);
  scale =
      c.node.has("scale") ? double(c.node.attrFloat("scale")) : 1.0 / std::sqrt(double(shapeOf(q).back()));
  appendCaches();
  int64_t mode = c.node.attrInt("qk_matmul_output_mode", 0);
  bool wantsScores = c.node.hasOutput(3);
  if (mode < 0 || mode > 3)
    c.fail("qk_matmul_output_mode is {}, expected one of 0 to 3", mode);
  bool asked = causal; // a mask may stand for it
  Value found = wantsScores ? scores(mode) : Value();
  causal = asked;
  Value hidden = mask(/*withBand=*/false);
  auto op = train::AttentionOp::create(
      builder, loc, q, k, v, hidden, ValueRange(), /*documents=*/Value(), /*places=*/Value(),
      /*sinks=*/Value(), llvm::APFloat(scale), band().attribute(builder.getContext()), llvm::APFloat(softcap),
      qLayout, kvLayout, kvLayout, qLayout,
      /*ratio=*/llvm::APFloat(0.0f), /*op_id=*/0, /*row_size=*/1, /*training_mode=*/false);
  Value y = op.getO();
  if (flat)
    y = reshape(builder, loc, y, {shapeOf(y)[0], shapeOf(y)[1], shapeOf(y)[2] * shapeOf(y)[3]});
  c.setResult(0, y);
  if (wantsScores)
    c.setResult(3, found);
}

void kedge::importer::importAttention(NodeContext &c) { AttentionImport(c).run(); }

void kedge::importer::importRotaryEmbedding(NodeContext &c) {
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
