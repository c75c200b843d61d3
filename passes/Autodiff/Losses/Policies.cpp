// Clipped policy gradients: of given advantages and of what the policy said when it drew the tokens.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/Losses/LogProbabilities.h"

namespace kedge::autodiff {
using namespace mlir;

namespace {

/// Of each token; 0 where it does not count.
struct TokenLosses {
  LogProbabilities own;
  Value losses;
  Value clipped;    ///< 1 where no gradient is left
  Value divergence; ///< from the reference; null: none
};

} // namespace

static Value bounded(Formula &f, Value x, double low, double high) {
  return f.minimum(f.maximum(x, low), f.number(x, high));
}

static FailureOr<TokenLosses> tokenLosses(Formula &f, const LossInputs &inputs) {
  FailureOr<LogProbabilities> own = logProbabilities(f, inputs);
  if (failed(own))
    return failure();
  const ArrayRef<int64_t> shape = shapeOf(inputs.labels);
  const bool byRow = inputs.parameter("by_row") != 0;
  Value before = inputs.input("old_logps", shape, f.b.getF32Type());
  Value advantages = byRow ? inputs.input("advantages", shape.take_front(1), f.b.getF32Type())
                           : inputs.input("advantages", shape, f.b.getF32Type());
  if (!before || !advantages)
    return failure();
  if (byRow)
    advantages = f.reshape(advantages, {shape[0], 1});
  const double low = inputs.parameter("epsilon"), high = inputs.parameter("epsilon_high");
  Value ratio = f.exp(f.mul(f.sub(own->tokens, before), own->mask));
  Value free = f.mul(ratio, advantages);
  Value bound = f.mul(bounded(f, ratio, 1 - low, 1 + (high < 0 ? low : high)), advantages);
  Value isFree = f.lessOrEqual(free, bound);
  TokenLosses made{*own, f.neg(f.where(isFree, free, bound)), {}, {}};
  made.clipped = f.mul(f.toF32(f.negate(isFree)), own->mask);
  if (const double beta = inputs.parameter("beta"); beta != 0) {
    FailureOr<Value> reference = referenceTokens(f, inputs, *own);
    if (failed(reference))
      return failure();
    Value ahead = f.sub(*reference, own->tokens);
    made.divergence = f.add(f.sub(f.exp(ahead), ahead), -1);
    made.losses = f.add(made.losses, f.mul(made.divergence, beta));
  }
  made.losses = f.mul(made.losses, own->mask);
  return made;
}

/// A mean over the tokens of a row, then over rows.
FailureOr<ItemLosses> grpo(Formula &f, const LossInputs &inputs) {
  FailureOr<TokenLosses> made = tokenLosses(f, inputs);
  if (failed(made))
    return failure();
  auto ofRows = [&](Value tokens) { return f.sum(made->own.means(f, tokens), {0}); };
  ItemLosses items;
  items.losses = made->own.means(f, made->losses);
  items.metrics.push_back({abi::StepMetric::Clipped, ofRows(made->clipped)});
  if (made->divergence)
    items.metrics.push_back({abi::StepMetric::Kl, ofRows(f.mul(made->divergence, made->own.mask))});
  return items;
}

/// A mean over the tokens of the step.
FailureOr<ItemLosses> clippedPolicy(Formula &f, const LossInputs &inputs) {
  FailureOr<TokenLosses> made = tokenLosses(f, inputs);
  if (failed(made))
    return failure();
  ItemLosses items;
  items.losses = made->losses;
  items.counts = made->own.mask;
  items.metrics.push_back({abi::StepMetric::Clipped, f.sum(made->clipped, {0, 1})});
  if (made->divergence)
    items.metrics.push_back({abi::StepMetric::Kl, f.sum(f.mul(made->divergence, made->own.mask), {0, 1})});
  return items;
}

} // namespace kedge::autodiff
