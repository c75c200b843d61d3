#include "passes/Import/MaskMatcher.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "passes/Import/MatchUtils.h"
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A mask broadcasts, so its own expansions are not needed.
Value unexpanded(Value mask) {
  while (auto expand = raise::defining<ExpandOp>(mask))
    mask = expand.getInput();
  return raise::skip(mask);
}

/// Whether an element is visible (0 or true), hidden (at most -1e30, or false), or something else.
enum class Sight { Visible, Hidden, Neither };
Sight sightAt(const interpret::HostTensor &tensor, int64_t index) {
  if (tensor.type.getElementType().isInteger(1))
    return tensor.intAt(index) ? Sight::Visible : Sight::Hidden;
  double value = tensor.floatAt(index);
  return value == 0 ? Sight::Visible : value <= -1e30 ? Sight::Hidden : Sight::Neither;
}
} // namespace

namespace {
/// The band that holds all visible elements, each [queries, keys] of a mask alike: nullopt if it holds a
/// hidden one, too, or an element is neither.
std::optional<train::Visible> bandOf(const interpret::HostTensor &mask, int64_t queries, int64_t keys) {
  int64_t lowest = keys, highest = -queries; // of key minus query
  for (int64_t i = 0; i < mask.elements(); ++i) {
    const Sight sight = sightAt(mask, i);
    if (sight == Sight::Neither)
      return std::nullopt;
    const int64_t distance = i % keys - i / keys % queries;
    if (sight == Sight::Visible)
      lowest = std::min(lowest, distance), highest = std::max(highest, distance);
  }
  train::Visible band;
  if (lowest > 1 - queries)
    band.left = -lowest;
  if (highest < keys - 1)
    band.right = highest;
  for (int64_t i = 0; i < mask.elements(); ++i)
    if (band.sees(i / keys % queries, i % keys) != (sightAt(mask, i) == Sight::Visible))
      return std::nullopt;
  // A finite number that hides all keys of a query makes its weights equal, not 0.
  return band.leavesNone(queries, keys) ? std::nullopt : std::optional(band);
}
} // namespace

raise::MaskMatcher::Kind raise::MaskMatcher::classify(Value mask, train::Visible &band) {
  const interpret::HostTensor *tensor = evaluator.evaluate(mask);
  if (!tensor || tensor->elements() == 0)
    return Kind::Unknown;
  int64_t rank = tensor->type.getRank();
  int64_t keys = rank > 0 ? tensor->type.getShape().back() : 1;
  int64_t queries = rank > 1 ? tensor->type.getShape()[rank - 2] : 1;
  bool nothing = true;
  for (int64_t i = 0; nothing && i < tensor->elements(); ++i)
    nothing = sightAt(*tensor, i) == Sight::Visible;
  if (nothing)
    return Kind::Nothing;
  if (rank < 2 || keys == 1 || queries == 1 || keepsTensors)
    return Kind::Other;
  std::optional<train::Visible> found = bandOf(*tensor, queries, keys);
  if (!found || (*found & visible).leavesNone(queries, keys))
    return Kind::Other;
  band = *found;
  return Kind::Band;
}

bool raise::MaskMatcher::take(const train::Visible &band) {
  visible = visible & band;
  ++bands;
  return true;
}

void raise::MaskMatcher::conjuncts(Value mask, bool takesBands, SmallVectorImpl<Value> &left) {
  mask = unexpanded(mask);
  train::Visible band;
  Kind kind = classify(mask, band);
  if (kind == Kind::Nothing)
    return;
  if (kind == Kind::Band && takesBands) {
    take(band);
    return;
  }
  auto both = mask.getDefiningOp<AndOp>();
  if (both && kind == Kind::Unknown) {
    conjuncts(both.getA(), takesBands, left);
    conjuncts(both.getB(), takesBands, left);
    return;
  }
  left.push_back(mask);
}

Value raise::MaskMatcher::conjunction(ArrayRef<Value> parts) {
  Value all;
  for (Value part : parts)
    all = all ? Value(AndOp::create(builder, loc, all, part)) : part;
  return all;
}

bool raise::MaskMatcher::addBool(Value mask) {
  SmallVector<Value> parts;
  conjuncts(mask, /*takesBands=*/true, parts);
  if (bools)
    parts.insert(parts.begin(), bools);
  bools = conjunction(parts);
  return true;
}

bool raise::MaskMatcher::addFloat(Value mask) {
  mask = unexpanded(mask);
  train::Visible band;
  switch (classify(mask, band)) {
  case Kind::Nothing:
    return true;
  case Kind::Band:
    return take(band);
  default:
    break;
  }
  auto chosen = mask.getDefiningOp<WhereOp>();
  auto hidden = chosen ? splatOf(chosen.getB()) : std::nullopt,
       shown = chosen ? splatOf(chosen.getA()) : std::nullopt;
  if (chosen && hidden && shown && *shown == 0 && *hidden == -infinity)
    return addBool(chosen.getCondition());
  // A mask with a finite number in place of -inf gives a row that sees no key uniform weights over all keys.
  // Such a mask is kept; only the parts of it that hide nothing are dropped.
  if (chosen && hidden && shown) {
    SmallVector<Value> parts;
    conjuncts(chosen.getCondition(), /*takesBands=*/false, parts);
    if (Value condition = conjunction(parts); condition && condition != chosen.getCondition()) {
      Value a = scalarLike(builder, loc, mask, *shown), b = scalarLike(builder, loc, mask, *hidden);
      mask = WhereOp::create(builder, loc, condition, a, b);
    }
  }
  if (rankOf(mask) > 4)
    return false;
  floats = floats ? Value(AddOp::create(builder, loc, floats, mask)) : mask;
  return true;
}

Value raise::MaskMatcher::operand() {
  if (!bools || !floats)
    return bools ? bools : floats;
  return WhereOp::create(builder, loc, bools, floats, scalarLike(builder, loc, floats, -infinity));
}
