// Variants of Adam, element by element: ADOPT and schedule-free AdamW.
#include "passes/Autodiff/UpdateFormula.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// (t - 1)^(1/4), what ADOPT clips to; 0 in the first update.
Value adoptClip(ParameterFormula &f) {
  Value step = f.u.countedStep();
  if (!step)
    return f.host("adopt_clip");
  return f.inType(f.power(f.sub(step, f.number(step, 1)), 0.25));
}
} // namespace

/// The first update only takes the gradient's square; the limit of 0 keeps its direction out of the first
/// moment.
void updateAdopt(ParameterUpdate &u) {
  ParameterFormula f(u);
  Value moment1 = u.makeState(Role::Moment1, "moment1"), moment2 = u.makeState(Role::Moment2, "moment2");
  Value g = f.gradient(), clip = adoptClip(f), isLater = f.isAbove(clip, f.number(clip, 0));
  Value direction = f.div(g, f.larger(f.root(moment2), f.host("eps")));
  direction = f.smaller(f.larger(direction, f.neg(clip)), clip);
  Value after1 = f.lerp(moment1, direction, f.host("one_minus_beta1"));
  Value param = u.param;
  if (u.state.getDecay()) {
    Value decay = f.rate(u.scalar("lr_decay"));
    param = f.sub(param, f.mul(f.choose(isLater, decay, f.number(decay, 0)), param));
  }
  u.finish(f.sub(param, f.mul(f.rate(u.scalar("lr")), after1)));
  u.keep(moment1, after1);
  Value beta2 = f.host("beta2"), rest = f.host("one_minus_beta2");
  u.keep(moment2, f.secondMoment(moment2, g, f.choose(isLater, beta2, f.number(beta2, 0)),
                                 f.choose(isLater, rest, f.number(rest, 1))));
}

namespace {
/// What the steps share: how far the weights go to z, and to the gradient.
struct ScheduleFreeSteps {
  Value share, pull;
};

/// A step's weight in the average is the square of the largest rate so far.
Value shareOfStep(UpdateMath &f, ParameterUpdate &u) {
  Value rate = u.exactScalar("exact_lr");
  Value largest = u.makeRunState("schedule_free.largest_rate"),
        sum = u.makeRunState("schedule_free.weight_sum");
  Value newLargest = f.larger(largest, rate), weight = f.mul(newLargest, newLargest);
  Value newSum = f.add(sum, weight);
  u.keep(largest, newLargest);
  u.keep(sum, newSum);
  return f.div(weight, f.atLeast(newSum, 1e-300));
}

ScheduleFreeSteps scheduleFreeSteps(UpdateMath &f, ParameterUpdate &u) {
  Value share = u.shared("share", [&] { return shareOfStep(f, u); });
  Value pull = u.shared("pull", [&] {
    Value one = f.number(share, 1), beta1 = u.exactScalar("exact_beta1");
    return f.mul(u.exactScalar("exact_lr"), f.sub(f.mul(beta1, f.sub(one, share)), one));
  });
  return {share, pull};
}
} // namespace

/// The parameter is y, where gradients are taken; its average x = y + (1 - 1 / b1)(z - y) is what the program
/// evaluates.
void updateScheduleFree(ParameterUpdate &u) {
  ParameterFormula f(u);
  const ScheduleFreeSteps steps = scheduleFreeSteps(f, u);
  Value z = u.makeState(Role::Average, "average"), before = u.makeState(Role::Moment2, "moment2");
  Value g = f.gradient();
  Value after = f.secondMoment(before, g, f.host("beta2"), f.host("one_minus_beta2"));
  Value direction = f.div(
      g, f.add(f.div(f.root(after), f.inType(u.adamCorrection("bias_correction2_sqrt"))), f.host("eps")));
  if (u.state.getDecay())
    direction = f.add(direction, f.mul(f.host("weight_decay"), u.param));
  u.finish(f.add(f.lerp(u.param, z, f.inType(steps.share)), f.mul(f.rate(steps.pull), direction)));
  u.keep(z, f.sub(z, f.mul(f.rate(u.scalar("lr")), direction)));
  u.keep(before, after);
}

} // namespace kedge::autodiff
