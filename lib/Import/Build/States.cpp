// Operators that carry something along a sequence: cumulative products, caches, causal convolutions, linear
// attention.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Moved by `by` places along the axis; ones come in, what moves out is cut off.
Value movedWithOnes(NodeContext &node, Value x, int64_t axis, int64_t by) {
  Dims pads(2 * rankOf(x), 0);
  pads[axis] = by;
  pads[axis + rankOf(x)] = -by;
  return onnx::PadOp::create(node.builder, node.loc, x, scalarLike(node.builder, node.loc, x, 1),
                             onnx::PadMode::Constant, pads);
}

Value flipped(NodeContext &node, Value x, int64_t axis) {
  Dims starts(rankOf(x), 0), ends(shapeOf(x)), steps(rankOf(x), 1);
  int64_t size = shapeOf(x)[axis];
  if (size < 2)
    return x;
  starts[axis] = size - 1;
  ends[axis] = -(size + 1);
  steps[axis] = -1;
  return onnx::SliceOp::create(node.builder, node.loc, x, starts, ends, steps);
}

/// Products over runs whose length doubles: as many as the size has bits.
void importCumProd(NodeContext &node) {
  Value x = node.require(0);
  auto given = node.constantInts(1, "axis");
  if (!given || given->size() != 1)
    node.fail("axis is missing or has several elements, expected one");
  int64_t axis = axisOf(node, given->front(), rankOf(x)), size = shapeOf(x)[axis];
  bool reverse = node.node.attrBool("reverse", false);
  if (reverse)
    x = flipped(node, x, axis);
  if (node.node.attrBool("exclusive", false) && size > 0)
    x = movedWithOnes(node, x, axis, 1);
  for (int64_t run = 1; run < size; run *= 2)
    x = onnx::MulOp::create(node.builder, node.loc, x, movedWithOnes(node, x, axis, run));
  node.setResult(0, reverse ? flipped(node, x, axis) : x);
}

/// The cache with the update written from each sample's index on.
void importTensorScatter(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value cache = node.require(0), update = node.require(1);
  int64_t rank = rankOf(cache), axis = axisOf(node, node.node.attrInt("axis", -2), rank);
  std::string mode = node.node.attrString("mode", "linear");
  if (axis == 0 || (mode != "linear" && mode != "circular"))
    node.fail("axis {} and mode '{}': expected an axis after the first, and linear or circular", axis, mode);
  Dims along(rank, 1), samples(rank, 1);
  along[axis] = shapeOf(update)[axis];
  samples[0] = shapeOf(update)[0];
  Value places = reshape(b, node.loc, node.constantInts1d(firstDims(along[axis])), along);
  if (node.has(2))
    places = math.add(places, reshape(b, node.loc, castTo(node, node.require(2), b.getI64Type()), samples));
  if (mode == "circular")
    places = onnx::ModOp::create(b, node.loc, places, scalarLike(b, node.loc, places, shapeOf(cache)[axis]),
                                 b.getBoolAttr(false));
  places = expand(b, node.loc, places, shapeOf(update));
  node.setResult(0, onnx::ScatterElementsOp::create(b, node.loc, cache, places, update, axis, "none"));
}

Value silu(NodeContext &node, Value x, float alpha = 1) {
  return onnx::SwishOp::create(node.builder, node.loc, x, APFloat(alpha));
}

void importSwiglu(NodeContext &node) {
  if (shapeOf(node.require(0)) != shapeOf(node.require(1)))
    node.fail("A [{}] and B [{}] differ in shape", fmt::join(shapeOf(node.require(0)), " x "),
              fmt::join(shapeOf(node.require(1)), " x "));
  Value gate = silu(node, node.require(0), node.node.attrFloat("alpha", 1));
  node.setResult(0, onnx::MulOp::create(node.builder, node.loc, gate, node.require(1)));
}

/// A depthwise convolution of the past and the input; the last places are the next past.
void importCausalConv(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = node.require(0), w = node.require(1), past = node.operand(3);
  if (rankOf(x) != 3 || rankOf(w) != 3 || shapeOf(w)[1] != 1 || shapeOf(w)[0] != shapeOf(x)[1])
    node.fail("expected an input [batch, channels, length] and weights [channels, 1, k], found [{}] and [{}]",
              fmt::join(shapeOf(x), " x "), fmt::join(shapeOf(w), " x "));
  int64_t kept = shapeOf(w)[2] - 1, channels = shapeOf(x)[1];
  if (!past && kept > 0)
    past = splat(b, node.loc, RankedTensorType::get({shapeOf(x)[0], channels, kept}, elementOf(x)), 0);
  Value all = kept > 0 ? Value(onnx::ConcatOp::create(b, node.loc, ValueRange{past, x}, 2)) : x;
  Value y =
      onnx::ConvOp::create(b, node.loc, all, w, node.operand(2), Dims{1}, Dims{0, 0}, Dims{1}, channels);
  std::string activation = node.node.attrString("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    node.fail("activation '{}' is none of none, silu, swish", activation);
  node.setResult(0, activation == "none" ? y : silu(node, y));
  int64_t length = shapeOf(all)[2];
  node.setResult(1, sliceAxis(b, node.loc, all, 2, length - kept, length));
}

/// Unrolled programs beyond this are no use to anyone.
constexpr int64_t mostSteps = 1024;

/// S = exp(g) S + k (v - S^T k) beta; o = scale q^T S, with what the update rule has of it.
class LinearAttention {
public:
  explicit LinearAttention(NodeContext &node)
      : node(node), b(node.builder), math{node.builder, node.loc}, f32(node.builder.getF32Type()),
        queryHeads(node.node.attrInt("q_num_heads")), heads(node.node.attrInt("kv_num_heads")) {}

  void run() {
    readRule();
    Value q = perHead(0, queryHeads), k = perHead(1, heads), v = perHead(2, heads);
    Value decay = gated ? perHead(4, heads) : Value(), beta = delta ? rates() : Value();
    int64_t keySize = shapeOf(k)[3], valueSize = shapeOf(v)[3], steps = shapeOf(q)[2], batch = shapeOf(q)[0];
    if (steps > mostSteps)
      node.unsupported(fmt::format("more than {} steps", mostSteps));
    Value state = node.has(3)
                      ? castTo(node, node.require(3), f32)
                      : splat(b, node.loc, RankedTensorType::get({batch, heads, keySize, valueSize}, f32), 0);
    double scale = node.node.attrFloat("scale", 0);
    q = math.scale(q, scale == 0 ? 1 / std::sqrt(double(keySize)) : scale);
    SmallVector<Value> rows;
    for (int64_t t = 0; t < steps; ++t) {
      auto at = [&](Value all) { return sliceAxis(b, node.loc, all, 2, t, t + 1); };
      Value key = column(at(k)), value = at(v);
      if (gated)
        state = math.mul(state, column(onnx::ExpOp::create(b, node.loc, at(decay))));
      if (delta)
        value = math.mul(at(beta), math.sub(value, product(at(k), state)));
      state = math.add(state, product(key, value));
      rows.push_back(product(at(q), repeated(state)));
    }
    Value y = rows.size() == 1 ? rows[0] : Value(onnx::ConcatOp::create(b, node.loc, rows, 2));
    y = reshape(b, node.loc, transpose(b, node.loc, y, {0, 2, 1, 3}), {batch, steps, queryHeads * valueSize});
    Type given = elementOf(node.require(0));
    node.setResult(0, castTo(node, y, given));
    node.setResult(1, castTo(node, state, node.has(3) ? elementOf(node.require(3)) : given));
  }

private:
  void readRule() {
    std::string rule = node.node.attrString("update_rule", "gated_delta");
    gated = rule == "gated" || rule == "gated_delta";
    delta = rule == "delta" || rule == "gated_delta";
    if (!gated && !delta && rule != "linear")
      node.fail("update_rule '{}' is none of linear, gated, delta, gated_delta", rule);
    if (gated != node.has(4) || delta != node.has(5))
      node.fail("update_rule '{}' {} decay and {} beta", rule, gated ? "needs" : "has no",
                delta ? "needs" : "has no");
    if (queryHeads <= 0 || heads <= 0 || queryHeads % heads != 0)
      node.fail("q_num_heads {} is no multiple of kv_num_heads {}", queryHeads, heads);
  }

  /// [B, T, H * D] as [B, H, T, D].
  Value perHead(size_t k, int64_t count) {
    Value x = castTo(node, node.require(k), f32);
    if (rankOf(x) != 3 || shapeOf(x)[2] % count != 0)
      node.fail("input {} is [{}], expected [batch, time, heads times size] of {} heads", k,
                fmt::join(shapeOf(x), " x "), count);
    Value apart = reshape(b, node.loc, x, {shapeOf(x)[0], shapeOf(x)[1], count, shapeOf(x)[2] / count});
    return transpose(b, node.loc, apart, {0, 2, 1, 3});
  }

  Value rates() { return perHead(5, shapeOf(node.require(5)).back() == 1 ? 1 : heads); }

  /// [.., 1, D] as [.., D, 1]; one number per head stays.
  Value column(Value row) {
    ArrayRef<int64_t> shape = shapeOf(row);
    return reshape(b, node.loc, row, {shape[0], shape[1], shape[3], 1});
  }
  Value product(Value x, Value y) { return onnx::MatMulOp::create(b, node.loc, x, y, false, false); }

  /// The state of a head for each query head that shares it.
  Value repeated(Value state) {
    int64_t group = queryHeads / heads;
    Dims s(shapeOf(state));
    if (group == 1)
      return state;
    Value apart = expand(b, node.loc, reshape(b, node.loc, state, {s[0], s[1], 1, s[2], s[3]}),
                         {s[0], s[1], group, s[2], s[3]});
    return reshape(b, node.loc, apart, {s[0], queryHeads, s[2], s[3]});
  }

  NodeContext &node;
  OpBuilder &b;
  GradientBuilder math;
  Type f32;
  int64_t queryHeads, heads;
  bool gated = false, delta = false;
};

void importLinearAttention(NodeContext &node) { LinearAttention(node).run(); }
} // namespace

void kedge::importer::registerStateImporters(NodeImporters &importers) {
  importers.add("CumProd", importCumProd);
  importers.add("TensorScatter", importTensorScatter);
  importers.add("SwiGLU", importSwiglu);
  importers.add("CausalConvWithState", importCausalConv);
  importers.add("LinearAttention", importLinearAttention);
}
