#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEROTARY
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct Rotated {
  Value x;
  bool interleaved;
};

/// The part of the last dim that -part negates.
std::optional<MatchedPart> negatedPart(Value v) {
  auto negation = defining<NegOp>(v);
  return negation ? partOf(negation.getX()) : std::nullopt;
}

/// Concat(-x[.., D/2:], x[.., :D/2]).
std::optional<Rotated> matchHalves(Value v) {
  auto joined = defining<ConcatOp>(v);
  int64_t last = rankOf(v) - 1;
  if (!joined || joined.getInputs().size() != 2 || (int64_t)joined.getAxis() != last)
    return std::nullopt;
  auto second = negatedPart(joined.getInputs()[0]), first = partOf(joined.getInputs()[1]);
  if (!second || !first || second->source != first->source || first->source.getType() != v.getType())
    return std::nullopt;
  int64_t half = shapeOf(v)[last] / 2;
  bool fits = first->axis == last && second->axis == last && first->step == 1 && second->step == 1 &&
              first->start == 0 && first->size == half && second->start == half && second->size == half;
  return fits ? std::optional(Rotated{first->source, false}) : std::nullopt;
}

/// v of a reshape that appends a dim of size 1.
Value beforeUnsqueeze(Value v) {
  auto reshape = defining<ReshapeOp>(v);
  if (!reshape || shapeOf(v).empty() || shapeOf(v).back() != 1 ||
      shapeOf(v).drop_back() != shapeOf(reshape.getData()))
    return {};
  return reshape.getData();
}

/// Neighbours (a, b) -> (-b, a): every second element, stacked and flattened.
std::optional<Rotated> matchNeighbours(Value v) {
  auto flat = defining<ReshapeOp>(v);
  auto joined = flat ? defining<ConcatOp>(flat.getData()) : ConcatOp();
  if (!joined || joined.getInputs().size() != 2 ||
      (int64_t)joined.getAxis() != rankOf(joined.getConcatResult()) - 1)
    return std::nullopt;
  Value odd = beforeUnsqueeze(joined.getInputs()[0]), even = beforeUnsqueeze(joined.getInputs()[1]);
  auto second = odd ? negatedPart(odd) : std::nullopt, first = even ? partOf(even) : std::nullopt;
  if (!second || !first || second->source != first->source || first->source.getType() != v.getType())
    return std::nullopt;
  int64_t last = rankOf(v) - 1, half = shapeOf(v)[last] / 2;
  bool fits = first->axis == last && second->axis == last && first->step == 2 && second->step == 2 &&
              first->start == 0 && second->start == 1 && first->size == half && second->size == half;
  return fits ? std::optional(Rotated{first->source, true}) : std::nullopt;
}

/// Whether angles broadcast to x without making it larger and name each element of its last dim.
bool areAngles(Value angles, Value x) {
  ArrayRef<int64_t> shape = shapeOf(angles), whole = shapeOf(x);
  if (shape.empty() || shape.size() > whole.size() || shape.back() != whole.back())
    return false;
  for (auto [size, full] : llvm::zip(llvm::reverse(shape), llvm::reverse(whole)))
    if (size != full && size != 1)
      return false;
  return true;
}

struct RaiseRotary : impl::RaiseRotaryBase<RaiseRotary> {
  bool raise(AddOp root) override {
    return raise(root, root.getA(), root.getB()) || raise(root, root.getB(), root.getA());
  }

  /// kept = x cos, turned = rotate(x) sin.
  static bool raise(AddOp root, Value kept, Value transposed) {
    auto cosine = defining<MulOp>(kept), sine = defining<MulOp>(transposed);
    if (!cosine || !sine || rankOf(root.getResult()) == 0)
      return false;
    for (auto [rotation, sin] : {std::pair(sine.getA(), sine.getB()), std::pair(sine.getB(), sine.getA())}) {
      auto rotated = matchHalves(rotation);
      if (!rotated)
        rotated = matchNeighbours(rotation);
      if (!rotated || rotated->x.getType() != root.getResult().getType())
        continue;
      Value cos = same(cosine.getA(), rotated->x)   ? cosine.getB()
                  : same(cosine.getB(), rotated->x) ? cosine.getA()
                                                    : Value();
      if (!cos || !areAngles(cos, rotated->x) || !areAngles(sin, rotated->x))
        continue;
      PlacedBuilder builder(root);
      Value rotary = train::RotaryOp::create(builder, root.getLoc(), rotated->x, rotated->x, cos, sin,
                                             rotated->interleaved, false);
      root.getResult().replaceAllUsesWith(rotary);
      return true;
    }
    return false;
  }
};
} // namespace
} // namespace kedge::raise
