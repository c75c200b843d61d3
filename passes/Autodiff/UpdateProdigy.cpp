// Prodigy: how far the weights have come says what the rate is. All gradients are there before one is
// applied.
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "passes/Autodiff/UpdateFormula.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// The sum of all elements that are added.
class Sum : public GradientReduction {
  Value reduceLast(OpBuilder &builder, Value values) const override {
    return onnx::ReduceSumOp::create(builder, values.getLoc(), values, ArrayRef<int64_t>{rankOf(values) - 1},
                                     false);
  }
  Value reduceAgain(OpBuilder &builder, Value row) const override { return reduceLast(builder, row); }
  Value combine(OpBuilder &builder, Value a, Value b) const override {
    return onnx::AddOp::create(builder, a.getLoc(), a, b);
  }
};

/// The distance's estimate, and what else the steps of one run share; all in f64.
struct Distance {
  Value before, numerator;  ///< states
  Value ratio, rate, decay; ///< d / d0, d lr, sqrt(b2)
  Value after;
};

constexpr double kFirstDistance = 1e-6;

Distance distanceBefore(UpdateMath &f, ParameterUpdate &u) {
  Distance d;
  d.before = u.makeRunState("prodigy.distance", kFirstDistance);
  d.numerator = u.makeRunState("prodigy.numerator");
  d.ratio = f.scale(d.before, 1 / kFirstDistance);
  d.rate = f.mul(d.before, u.exactScalar("exact_lr"));
  d.decay = f.root(u.exactScalar("exact_beta2"));
  return d;
}

/// What the estimate takes of a parameter, and what its update does.
struct Part {
  Value moment1, moment2; ///< of this step
  Value moved;            ///< p0 - p before this step
  Value along, sizes;     ///< g (p0 - p), |s|
};

Part partOf(ParameterUpdate &u, const Distance &d) {
  ParameterFormula f(u);
  Value before1 = u.makeState(Role::Moment1, "moment1"), before2 = u.makeState(Role::Moment2, "moment2");
  Value sums = u.makeState(Role::Momentum, "sums");
  Value g = f.gradient(), distance = f.inType(d.before);
  Value weight1 = f.mul(distance, f.host("one_minus_beta1")),
        weight2 = f.mul(f.mul(distance, distance), f.host("one_minus_beta2"));
  Part part;
  part.moved = u.makeState(Role::State, "moved");
  part.moment1 = f.add(f.mul(f.host("beta1"), before1), f.mul(weight1, g));
  part.moment2 = f.secondMoment(before2, g, f.host("beta2"), weight2);
  Value after = f.add(f.mul(f.inType(d.decay), sums), f.mul(f.inType(f.mul(d.ratio, d.rate)), g));
  part.along = f.mul(g, part.moved);
  part.sizes = onnx::AbsOp::create(u.builder, u.loc, after);
  u.keep(before1, part.moment1);
  u.keep(before2, part.moment2);
  u.keep(sums, after);
  return part;
}

/// Over the elements of all parameters and ranks, f64.
template <typename Of>
Value sumOver(MutableArrayRef<ParameterUpdate> updates, ArrayRef<Part> parts, Of &&of) {
  ParameterUpdate &first = updates.front();
  const dist::RankGroup group = dist::dataGroup(first.state->getParentOfType<ModuleOp>());
  OpBuilder &builder = first.builder;
  Sum sum;
  for (auto [update, part] : llvm::zip_equal(updates, parts)) {
    update.enter();
    Value own = of(part);
    if (!group.isAlone())
      own = dist::LocalShardOp::create(builder, update.loc, own, group).getResult(0);
    sum.add(builder, own);
  }
  Value all = sum.join(builder, first.loc);
  if (!group.isAlone())
    all = dist::AllReduceOp::create(builder, first.loc, all, group, dist::ReduceKind::Sum).getResult(0);
  return UpdateMath(first).cast(all, builder.getF64Type());
}

/// d = the largest of numerator / denominator so far; nothing without gradients.
void estimate(Distance &d, ParameterUpdate &u, Value along, Value sizes) {
  UpdateMath f(u);
  Value numerator = f.add(f.mul(d.decay, d.numerator), f.mul(f.mul(d.ratio, d.rate), along));
  Value found = f.div(numerator, f.atLeast(sizes, 1e-300)), hasSome = f.isAbove(sizes, f.number(sizes, 0));
  found = f.choose(hasSome, found, d.before);
  d.after = f.larger(d.before, found);
  u.keep(d.before, d.after);
  u.keep(d.numerator, f.choose(hasSome, numerator, d.numerator));
}

void move(ParameterUpdate &u, const Part &part, const Distance &d) {
  u.enter();
  ParameterFormula f(u);
  Value rate = f.rate(d.rate), param = u.param;
  if (u.state.getDecay())
    param = f.sub(param, f.mul(f.mul(rate, f.host("weight_decay")), param));
  Value denominator = f.add(f.root(part.moment2), f.mul(f.inType(d.after), f.host("eps")));
  Value after = f.sub(param, f.mul(rate, f.div(part.moment1, denominator)));
  u.finish(after);
  u.keep(part.moved, f.add(part.moved, f.sub(u.param, after)));
}
} // namespace

void updateProdigy(MutableArrayRef<ParameterUpdate> updates) {
  if (updates.empty())
    return;
  ParameterUpdate &first = updates.front();
  first.enter();
  UpdateMath f(first);
  Distance d = distanceBefore(f, first);
  SmallVector<Part> parts;
  for (ParameterUpdate &update : updates) {
    update.enter();
    parts.push_back(partOf(update, d));
  }
  Value along = sumOver(updates, parts, [](const Part &part) { return part.along; });
  Value sizes = sumOver(updates, parts, [](const Part &part) { return part.sizes; });
  first.enter();
  estimate(d, first, along, sizes);
  for (auto [update, part] : llvm::zip_equal(updates, parts))
    move(update, part, d);
}

} // namespace kedge::autodiff
