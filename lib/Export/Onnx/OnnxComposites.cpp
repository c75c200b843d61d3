// Composites of level 1 as ONNX: norms keep their operators, attention, rotary embedding and gated
// activations become the primitives that import raises them from.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "lib/Export/Onnx/OnnxWriter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;

namespace kedge::exporter {
namespace {
using Attr = model::Attribute;
using Names = OnnxWriter::Names;

bool anyUsed(Operation *op, unsigned from) {
  for (unsigned i = from; i < op->getNumResults(); ++i)
    if (!op->getResult(i).use_empty())
      return true;
  return false;
}

/// A norm of which ONNX gives the first result only.
void writeNorm(OnnxWriter &w, Operation *op, const std::string &type) {
  if (anyUsed(op, 1))
    return w.unsupported(op, "whose statistics are used");
  w.result(op, type, w.operands(op), attributesOf(op));
}

void writeSwish(OnnxWriter &w, Operation *op, const std::string &gate, double alpha, Type element,
                const std::string &factor) {
  std::string argument = alpha == 1 ? gate : w.value("Mul", {gate, w.number(element, alpha)});
  std::string sigmoid = w.value("Sigmoid", {argument});
  if (factor.empty())
    return w.result(op, "Mul", {gate, sigmoid});
  w.result(op, "Mul", {w.value("Mul", {gate, sigmoid}), factor});
}

class Rotary {
public:
  Rotary(OnnxWriter &w, train::RotaryOp op) : w(w), op(op), size(shapeOf(op.getX()).back()) {}

  void write() {
    std::string x = w.nameOf(op.getX());
    std::string kept = w.value("Mul", {x, angles(op.getCos())});
    w.result(op, "Add", {kept, w.value("Mul", {rotated(x), angles(op.getSin())})});
  }

private:
  Attr axis(int64_t at) { return Attr::makeInt("axis", at); }
  std::string part(const std::string &x, int64_t from, int64_t to) {
    return w.value("Slice", {x, w.ints({from}), w.ints({to}), w.ints({-1}), w.ints({1})});
  }
  std::string reshaped(const std::string &x, std::vector<int64_t> shape) {
    return w.value("Reshape", {x, w.ints(shape)}, {Attr::makeInt("allowzero", 1)});
  }
  /// One angle for each element; half as many where pairs share them.
  std::string angles(Value v) {
    std::string name = w.nameOf(v);
    std::vector<int64_t> shape(shapeOf(v).vec());
    if (shape.back() == size)
      return name;
    if (!op.getInterleaved())
      return w.value("Concat", {name, name}, {axis(-1)});
    std::vector<int64_t> wide = shape, whole = shape;
    wide.push_back(1);
    name = reshaped(name, wide);
    whole.back() *= 2;
    return reshaped(w.value("Concat", {name, name}, {axis(-1)}), whole);
  }
  /// (a, b) -> (-b, a) of every pair.
  std::string rotated(const std::string &x) {
    auto transposed = [&](const std::string &pairs, int64_t half) {
      return w.value("Concat", {w.value("Neg", {part(pairs, half, 2 * half)}), part(pairs, 0, half)},
                     {axis(-1)});
    };
    if (!op.getInterleaved())
      return transposed(x, size / 2);
    std::vector<int64_t> shape(shapeOf(op.getX()).vec()), pairs = shape;
    pairs.back() /= 2;
    pairs.push_back(2);
    return reshaped(transposed(reshaped(x, pairs), 1), shape);
  }

  OnnxWriter &w;
  train::RotaryOp op;
  int64_t size;
};

class Attention {
public:
  Attention(OnnxWriter &w, train::AttentionOp op)
      : w(w), op(op), element(elementOf(op.getQ())), lse(shapeOf(op.getLSE())) {}

  void write() {
    if (anyUsed(op, 1) || !op.getRandom().empty())
      return w.unsupported(op, "of a training step");
    std::string k = w.value("Transpose", {perHead(op.getK(), op.getKLayout())}, {perm({0, 1, 3, 2})});
    std::string scores = w.value("MatMul", {perHead(op.getQ(), op.getQLayout()), k});
    scores = scaled(scores, op.getScale().convertToDouble());
    if (double cap = op.getSoftcap().convertToDouble(); cap > 0)
      scores = scaled(w.value("Tanh", {scaled(scores, 1 / cap)}), cap);
    std::string weights = w.value("Softmax", {masked(scores)}, {Attr::makeInt("axis", 3)});
    if (hides)
      weights = w.value("Where", {w.value("IsNaN", {weights}), w.number(element, 0), weights});
    if (op.getTrainingMode() && !op.getRatio().isZero())
      weights = w.value(
          "Dropout", {weights, w.number(Float32Type::get(op.getContext()), op.getRatio().convertToDouble()),
                      w.number(IntegerType::get(op.getContext(), 1), 1)});
    std::string v = perHead(op.getV(), op.getVLayout());
    if (op.getOLayout() == train::AttentionLayout::BHTD)
      return w.result(op, "MatMul", {weights, v});
    w.result(op, "Transpose", {w.value("MatMul", {weights, v})}, {perm({0, 2, 1, 3})});
  }

private:
  Attr perm(std::vector<int64_t> order) { return Attr::makeInts("perm", std::move(order)); }
  std::string scaled(const std::string &x, double factor) {
    return factor == 1 ? x : w.value("Mul", {x, w.number(element, factor)});
  }

  /// [B, H, T, D] with each head as often as queries need it.
  std::string perHead(Value v, train::AttentionLayout layout) {
    std::string name = w.nameOf(v);
    std::vector<int64_t> s(shapeOf(v).vec());
    if (layout == train::AttentionLayout::BTHD) {
      name = w.value("Transpose", {name}, {perm({0, 2, 1, 3})});
      std::swap(s[1], s[2]);
    }
    int64_t heads = lse[1], group = s[1] ? heads / s[1] : 1;
    if (group == 1)
      return name;
    name = w.value("Reshape", {name, w.ints({s[0], s[1], 1, s[2], s[3]})}, {Attr::makeInt("allowzero", 1)});
    name = w.value("Expand", {name, w.ints({s[0], s[1], group, s[2], s[3]})});
    return w.value("Reshape", {name, w.ints({s[0], heads, s[2], s[3]})}, {Attr::makeInt("allowzero", 1)});
  }

  /// Rows that see nothing become NaN by the softmax, and 0 behind it, as in the kernel.
  std::string masked(std::string scores) {
    double infinity = std::numeric_limits<double>::infinity();
    if (Value mask = op.getMask()) {
      hides = true;
      std::string name = w.nameOf(mask);
      if (elementOf(mask).isInteger(1))
        scores = w.value("Where", {name, scores, w.number(element, -infinity)});
      else {
        if (elementOf(mask) != element)
          name = w.value("Cast", {name}, {Attr::makeInt("to", static_cast<int64_t>(onnxType(element)))});
        scores = w.value("Add", {scores, name});
      }
    }
    std::optional<train::Visible> sight = op.getVisible();
    if (!sight)
      return scores;
    const bool headsFirst = op.getKLayout() == train::AttentionLayout::BHTD;
    const int64_t queries = lse[2], keys = shapeOf(op.getK())[headsFirst ? 2 : 1];
    SmallVector<bool> visible;
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        visible.push_back(sight->sees(i, j));
    hides |= sight->leavesNone(queries, keys);
    auto type = RankedTensorType::get({queries, keys}, IntegerType::get(op.getContext(), 1));
    return w.value("Where", {w.constant(DenseElementsAttr::get(type, ArrayRef<bool>(visible))), scores,
                             w.number(element, -infinity)});
  }

  OnnxWriter &w;
  train::AttentionOp op;
  Type element;
  ArrayRef<int64_t> lse;
  bool hides = false; ///< whether a row may see nothing
};

/// A matrix for each place.
void writeGroupedMatmul(OnnxWriter &w, train::GroupedMatmulOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  std::string matrices =
      w.value("Gather", {w.nameOf(op.getW()), w.nameOf(op.getExperts())}, {Attr::makeInt("axis", 0)});
  if (op.getTransB())
    matrices = w.value("Transpose", {matrices}, {Attr::makeInts("perm", {0, 1, 3, 2})});
  const std::string rows =
      w.value("Reshape", {w.nameOf(op.getX()), w.ints({x[0], 1, 1, x[1]})}, {Attr::makeInt("allowzero", 1)});
  w.result(op, "Reshape", {w.value("MatMul", {rows, matrices}), w.ints({y[0], y[1], y[2]})},
           {Attr::makeInt("allowzero", 1)});
}

/// In training. The running variance that ONNX computes is not the unbiased one: nothing may read it.
void writeTrainingNorm(OnnxWriter &w, train::BatchNormOp op) {
  if (anyUsed(op, 1))
    return w.unsupported(op, "whose statistics are used");
  OnnxWriter::Attributes attributes = attributesOf(op, {"unbiased"});
  attributes.push_back(Attr::makeInt("training_mode", 1));
  w.node(op, "BatchNormalization", w.operands(op), attributes, 3);
}

} // namespace

bool writeComposite(OnnxWriter &w, Operation *operation) {
  auto in = [&](Value v) { return w.nameOf(v); };
  bool known = true;
  llvm::TypeSwitch<Operation *>(operation)
      .Case([&](onnx::LayerNormalizationOp op) {
        w.node(op, "LayerNormalization", w.operands(op), attributesOf(op));
      })
      .Case([&](onnx::InstanceNormalizationOp op) { writeNorm(w, op, "InstanceNormalization"); })
      .Case([&](onnx::RMSNormalizationOp op) {
        w.needOpset(23);
        writeNorm(w, op, "RMSNormalization");
      })
      .Case([&](onnx::GroupNormalizationOp op) {
        if (shapeOf(op.getScale())[0] != shapeOf(op.getX())[1])
          return w.unsupported(op, "with a scale for each group");
        writeNorm(w, op, "GroupNormalization");
      })
      .Case([&](onnx::BatchNormalizationOp op) {
        w.result(op, "BatchNormalization", w.operands(op), attributesOf(op));
      })
      .Case([&](train::BatchNormOp op) { writeTrainingNorm(w, op); })
      .Case([&](onnx::SwishOp op) {
        writeSwish(w, op, in(op.getX()), op.getAlpha().convertToDouble(), elementOf(op.getX()), "");
      })
      .Case([&](train::ByModeOp op) { w.result(op, "Identity", {in(op.getTraining())}); })
      .Case([&](train::StraightThroughOp op) { w.result(op, "Identity", {in(op.getValue())}); })
      .Case([&](train::SwigluOp op) {
        writeSwish(w, op, in(op.getGate()), 1, elementOf(op.getGate()), in(op.getUp()));
      })
      .Case([&](train::RotaryOp op) {
        op.getInverse() ? w.unsupported(op, "backwards") : Rotary(w, op).write();
      })
      .Case([&](train::GroupedMatmulOp op) { writeGroupedMatmul(w, op); })
      .Case([&](train::AttentionOp op) {
        op.getDocuments() || op.getPlaces() || op.getSinks()
            ? w.unsupported(op, "with documents, places or sinks")
            : Attention(w, op).write();
      })
      .Default([&](Operation *) { known = false; });
  return known;
}

} // namespace kedge::exporter
