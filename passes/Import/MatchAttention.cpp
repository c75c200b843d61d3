#include "passes/Import/MatchAttention.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "passes/Import/MatchUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;
using namespace kedge::raise;

int64_t AttentionOperand::heads() const { return shapeOf(value)[bthd ? 2 : 1]; }

namespace {
bool hasPerm(TransposeOp op, ArrayRef<int64_t> perm) { return op && op.getPerm() == perm; }

/// Heads repeated by Reshape(Expand(Unsqueeze(x))): x and how often.
std::optional<std::pair<Value, int64_t>> beforeRepeat(Value v, int64_t headDim) {
  auto merged = defining<ReshapeOp>(v);
  auto expand = merged ? defining<ExpandOp>(merged.getData()) : ExpandOp();
  if (!expand || rankOf(v) != 4 || rankOf(expand.getOutput()) != 5)
    return std::nullopt;
  SmallVector<int64_t> before(shapeOf(expand.getInput())), wide(shapeOf(expand.getOutput()));
  int64_t repeats = wide[headDim + 1], heads = wide[headDim];
  SmallVector<int64_t> joined(wide);
  joined.erase(joined.begin() + headDim + 1);
  joined[headDim] = heads * repeats;
  SmallVector<int64_t> single(wide);
  single[headDim + 1] = 1;
  if (before != single || ArrayRef<int64_t>(joined) != shapeOf(v))
    return std::nullopt;
  single.erase(single.begin() + headDim + 1);
  auto unsqueeze = defining<ReshapeOp>(expand.getInput());
  if (!unsqueeze || shapeOf(unsqueeze.getData()) != ArrayRef<int64_t>(single))
    return std::nullopt;
  return std::pair(skip(unsqueeze.getData()), repeats);
}

/// Looks through numbers, transposes to and from bthd and repeated heads.
void resolve(AttentionOperand &operand, bool unrepeat) {
  while (true) {
    Scaled scaled = withoutScale(operand.value);
    operand.value = scaled.value;
    operand.scale *= scaled.scale;
    if (auto transpose = defining<TransposeOp>(operand.value); hasPerm(transpose, {0, 2, 1, 3})) {
      operand.value = skip(transpose.getData());
      operand.bthd = !operand.bthd;
      continue;
    }
    auto repeated = unrepeat ? beforeRepeat(operand.value, operand.bthd ? 2 : 1) : std::nullopt;
    if (!repeated)
      return;
    operand.value = repeated->first;
    operand.repeats *= repeated->second;
  }
}

/// K of a product with K^T.
bool resolveKey(MatMulOp product, AttentionOperand &key, bool unrepeat) {
  Scaled scaled = withoutScale(product.getB());
  key.scale = scaled.scale;
  key.value = scaled.value;
  if (!product.getTransB()) {
    auto transpose = defining<TransposeOp>(key.value);
    if (hasPerm(transpose, {0, 2, 3, 1}))
      key.bthd = true;
    else if (!hasPerm(transpose, {0, 1, 3, 2}))
      return false;
    key.value = skip(transpose.getData());
  }
  resolve(key, unrepeat);
  return true;
}

class ScoreMatcher {
public:
  explicit ScoreMatcher(AttentionMatch &match) : match(match) {}
  MatMulOp product;

  /// Masks, outermost first.
  bool masked(Value v, unsigned depth = 4) {
    v = skip(v);
    if (auto sum = v.getDefiningOp<AddOp>(); sum && depth > 0)
      return maskedBy(v, sum.getA(), {sum.getB(), false, false}, depth) ||
             maskedBy(v, sum.getB(), {sum.getA(), false, false}, depth);
    if (auto chosen = v.getDefiningOp<WhereOp>(); chosen && depth > 0) {
      if (hides(chosen.getB()))
        return maskedBy(v, chosen.getA(), {chosen.getCondition(), true, false}, depth);
      return hides(chosen.getA()) && maskedBy(v, chosen.getB(), {chosen.getCondition(), true, true}, depth);
    }
    return capped(v);
  }

private:
  static bool hides(Value v) {
    auto number = splatOf(v);
    return number && *number <= -1e4;
  }

  bool maskedBy(Value whole, Value scores, AttentionMatch::Mask mask, unsigned depth) {
    if (scores.getType() != whole.getType())
      return false;
    size_t before = match.masks.size();
    match.masks.push_back(mask);
    if (masked(scores, depth - 1))
      return true;
    match.masks.resize(before);
    return false;
  }

  /// [softcap tanh(] scale Q K^T [/ softcap)].
  bool capped(Value v) {
    Scaled outer = withoutScale(v);
    Value inner = outer.value;
    match.scale = outer.scale;
    match.softcap = 0;
    if (auto tanh = defining<TanhOp>(outer.value)) {
      Scaled argument = withoutScale(tanh.getX());
      match.softcap = outer.scale;
      match.scale = argument.scale * outer.scale;
      inner = argument.value;
    }
    product = defining<MatMulOp>(inner);
    return product && !product.getTransA() && match.softcap >= 0 && rankOf(product.getY()) == 4;
  }

  AttentionMatch &match;
};

/// Exporters replace the NaN of rows that see nothing by 0, as the kernel does.
Value withoutNaNGuard(Value v) {
  auto guard = defining<WhereOp>(v);
  auto test = guard ? defining<IsNaNOp>(guard.getCondition()) : IsNaNOp();
  auto zero = guard ? splatOf(guard.getA()) : std::nullopt;
  return test && zero && *zero == 0 && same(test.getX(), guard.getB()) ? guard.getB() : v;
}

/// The value that `v` drops elements of, noted in `match`; v itself without a Dropout.
Value withoutDropout(Value v, AttentionMatch &match) {
  auto dropout = defining<DropoutOp>(v);
  if (!dropout || skip(v) != dropout.getResult())
    return v;
  match.dropoutRatio = dropout.getRatio().convertToFloat();
  match.dropoutId = dropout.getOpId();
  return dropout.getX();
}

/// x of x - max(x), which a softmax does not tell from x.
Value withoutMaximum(Value x) {
  auto centred = defining<SubOp>(x);
  if (!centred)
    return x;
  Value all = skip(centred.getA());
  auto highest = defining<ReduceMaxOp>(centred.getB());
  if (highest && highest.getAxes() == ArrayRef<int64_t>{3} && same(highest.getX(), all))
    return all;
  // PyTorch's max(dim) gives the place, too, and exporters take the value from there.
  auto taken = defining<GatherElementsOp>(centred.getB());
  auto place = taken ? defining<ArgMaxOp>(taken.getIndices()) : ArgMaxOp();
  return place && taken.getAxis() == 3 && place.getAxis() == 3 && place.getKeepdims() &&
                 same(taken.getData(), all) && same(place.getX(), all)
             ? all
             : x;
}

/// One number for each head, [1, heads, 1, 1] before it was expanded; null otherwise.
Value perHead(Value v) {
  while (auto expand = defining<ExpandOp>(v))
    v = expand.getInput();
  v = skip(v);
  ArrayRef<int64_t> shape = shapeOf(v);
  return shape.size() == 4 && shape[0] == 1 && shape[2] == 1 && shape[3] == 1 ? v : Value();
}

/// What the softmax is of whose result is `probabilities`: the scores of keys. A sink beside them, whose
/// probability is cut off, is noted in `match`. Null if it is neither.
Value scoresOf(Value probabilities, AttentionMatch &match) {
  std::optional<MatchedPart> part = partOf(probabilities);
  auto softmax = defining<SoftmaxOp>(part ? part->source : probabilities);
  if (!softmax || (int64_t)softmax.getAxis() != 3)
    return {};
  if (!part)
    return softmax.getX();
  auto joined = defining<ConcatOp>(withoutMaximum(softmax.getX()));
  if (!joined || joined.getInputs().size() != 2 || joined.getAxis() != 3 || part->axis != 3 ||
      part->start != 0 || part->step != 1)
    return {};
  Value scores = joined.getInputs()[0], sink = joined.getInputs()[1];
  if (shapeOf(scores).back() != part->size || shapeOf(sink).back() != 1)
    return {};
  match.sinks = perHead(sink);
  return match.sinks ? scores : Value();
}

bool operandsFit(const AttentionMatch &m) {
  auto batch = [](const AttentionOperand &o) { return shapeOf(o.value)[0]; };
  for (const AttentionOperand *o : {&m.q, &m.k, &m.v})
    if (rankOf(o->value) != 4)
      return false;
  return batch(m.q) == batch(m.k) && batch(m.q) == batch(m.v) && m.k.heads() == m.v.heads() &&
         m.k.heads() > 0 && m.q.heads() % m.k.heads() == 0;
}
} // namespace

bool kedge::raise::matchAttention(MatMulOp weighted, AttentionMatch &match) {
  if (weighted.getTransA() || weighted.getTransB() || rankOf(weighted.getY()) != 4)
    return false;
  Value softmaxed = scoresOf(withoutNaNGuard(withoutDropout(weighted.getA(), match)), match);
  if (!softmaxed)
    return false;
  ScoreMatcher scores(match);
  if (!scores.masked(softmaxed))
    return false;
  double scale = match.scale;
  for (bool unrepeat : {true, false}) {
    match.q = {scores.product.getA()};
    match.k = {};
    match.v = {weighted.getB()};
    resolve(match.q, false);
    resolve(match.v, unrepeat);
    if (!resolveKey(scores.product, match.k, unrepeat))
      return false;
    if (match.k.repeats == match.v.repeats && operandsFit(match))
      break;
    if (!unrepeat)
      return false;
  }
  match.scale = scale * match.q.scale * match.k.scale;
  const bool sinksFit = !match.sinks || elementCount(shapeOf(match.sinks)) == match.q.heads();
  return match.v.scale == 1.0 && sinksFit;
}

bool kedge::raise::matchAttention(train::AttentionOp op, AttentionMatch &match) {
  if (!op.getRandom().empty())
    return false;
  if (op.getMask())
    match.masks.push_back({op.getMask(), elementOf(op.getMask()).isInteger(1), false});
  match.visible = op.getVisible().value_or(train::Visible());
  match.documents = op.getDocuments();
  match.sinks = op.getSinks();
  match.outputBthd = op.getOLayout() == train::AttentionLayout::BTHD;
  match.softcap = op.getSoftcap().convertToDouble();
  if (op.getTrainingMode()) {
    match.dropoutRatio = op.getRatio().convertToFloat();
    match.dropoutId = op.getOpId();
  }
  for (bool unrepeat : {true, false}) {
    match.q = {op.getQ(), op.getQLayout() == train::AttentionLayout::BTHD};
    match.k = {op.getK(), op.getKLayout() == train::AttentionLayout::BTHD};
    match.v = {op.getV(), op.getVLayout() == train::AttentionLayout::BTHD};
    resolve(match.q, false);
    resolve(match.k, unrepeat);
    resolve(match.v, unrepeat);
    if (match.k.repeats == match.v.repeats && operandsFit(match))
      break;
    if (!unrepeat)
      return false;
  }
  match.scale = op.getScale().convertToDouble() * match.q.scale * match.k.scale;
  return match.v.scale == 1.0;
}
