// Losses of rows that are preferred to others. Rows 2 i and 2 i + 1 are a pair: chosen, rejected.
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Losses/LogProbabilities.h"

namespace kedge::autodiff {
using namespace mlir;

/// A number of the run, so that --dpo-beta changes it, or of the compilation.
static Value betaOf(Formula &f, const LossInputs &inputs) {
  if (!inputs.betaIsScalar)
    return f.filled({}, inputs.parameter("beta"));
  return argumentFor(inputs.function, train::BindingKind::Scalar, "dpo_beta",
                     RankedTensorType::get({}, f.b.getF32Type()));
}

namespace {

struct Pair {
  Value chosen, rejected;

  Value difference(Formula &f) const { return f.sub(chosen, rejected); }
};

} // namespace

static FailureOr<Pair> pairOf(Formula &f, const LossInputs &inputs, Value rows) {
  const int64_t count = shapeOf(rows)[0];
  if (count % 2 != 0)
    return inputs.refuse() << "a batch has " << count
                           << " rows, expected a multiple of 2: pairs are a chosen row and a rejected one, "
                              "one after the other";
  return Pair{f.slice(rows, 0, 0, count, 2), f.slice(rows, 0, 1, count, 2)};
}

/// `margin`: by how much the reward of each chosen row is larger.
static void addMetrics(Formula &f, ItemLosses &items, Value margin) {
  items.metrics.push_back({abi::StepMetric::Margin, f.sum(margin, {0})});
  items.metrics.push_back({abi::StepMetric::Accuracy, f.sum(f.toF32(f.greater(margin, 0)), {0})});
}

/// -log sigmoid(x), with a share of labels that are the wrong way round.
static Value logistic(Formula &f, Value x, double smoothing) {
  Value right = f.softplus(f.neg(x));
  return smoothing == 0 ? right : f.add(f.mul(right, 1 - smoothing), f.mul(f.softplus(x), smoothing));
}

static ItemLosses ofPairs(Formula &f, Value losses, Value margin) {
  ItemLosses items;
  items.losses = losses;
  items.rowsPerItem = 2;
  addMetrics(f, items, margin);
  return items;
}

namespace {
/// Of each row: what the model gives its tokens, and by how much more that is than the reference gives.
struct Compared {
  LogProbabilities own;
  Value ratios;
};
} // namespace

static FailureOr<Compared> comparedWithReference(Formula &f, const LossInputs &inputs) {
  FailureOr<LogProbabilities> own = logProbabilities(f, inputs);
  if (failed(own))
    return failure();
  FailureOr<Value> reference = referenceSums(f, inputs, *own);
  if (failed(reference))
    return failure();
  return Compared{*own, f.sub(own->sums(f), *reference)};
}

FailureOr<ItemLosses> dpo(Formula &f, const LossInputs &inputs) {
  FailureOr<Compared> rows = comparedWithReference(f, inputs);
  if (failed(rows))
    return failure();
  FailureOr<Pair> ratios = pairOf(f, inputs, rows->ratios);
  if (failed(ratios))
    return failure();
  Value margin = f.mul(ratios->difference(f), betaOf(f, inputs));
  return ofPairs(f, logistic(f, margin, inputs.parameter("label_smoothing")), margin);
}

/// Of means over tokens, as TRL has it; the input ref_logps has sums.
FailureOr<ItemLosses> ipo(Formula &f, const LossInputs &inputs) {
  FailureOr<Compared> rows = comparedWithReference(f, inputs);
  if (failed(rows))
    return failure();
  FailureOr<Pair> ratios = pairOf(f, inputs, f.div(rows->ratios, f.maximum(rows->own.counts(f), 1)));
  if (failed(ratios))
    return failure();
  Value beta = betaOf(f, inputs), ahead = ratios->difference(f);
  Value wanted = f.div(f.filled({}, 0.5), beta);
  return ofPairs(f, f.square(f.sub(ahead, wanted)), f.mul(ahead, beta));
}

/// log(1 - exp(x)) of each row, where x is below 0.
static Value logOfOthers(Formula &f, Value x) { return f.log(f.add(f.neg(f.exp(x)), 1)); }

/// The cross-entropy of chosen rows, over all labels that they have, and beta times the odds of both.
FailureOr<ItemLosses> orpo(Formula &f, const LossInputs &inputs) {
  FailureOr<LogProbabilities> own = logProbabilities(f, inputs);
  if (failed(own))
    return failure();
  FailureOr<Pair> means = pairOf(f, inputs, own->means(f, own->tokens));
  if (failed(means))
    return failure();
  Value beta = betaOf(f, inputs);
  Value odds =
      f.sub(means->difference(f), f.sub(logOfOthers(f, means->chosen), logOfOthers(f, means->rejected)));
  ItemLosses items = ofPairs(f, f.mul(logistic(f, odds, 0), beta), f.mul(means->difference(f), beta));
  const int64_t rows = shapeOf(inputs.labels)[0];
  ItemLosses likelihood;
  likelihood.losses = f.slice(own->losses, 0, 0, rows, 2);
  likelihood.counts = f.slice(own->known, 0, 0, rows, 2);
  likelihood.rowsPerItem = 2;
  items.beside.push_back(likelihood);
  return items;
}

FailureOr<ItemLosses> simpo(Formula &f, const LossInputs &inputs) {
  FailureOr<LogProbabilities> own = logProbabilities(f, inputs);
  if (failed(own))
    return failure();
  FailureOr<Pair> means = pairOf(f, inputs, own->means(f, own->tokens));
  if (failed(means))
    return failure();
  Value margin = f.mul(means->difference(f), betaOf(f, inputs));
  Value ahead = f.add(margin, -inputs.parameter("gamma"));
  return ofPairs(f, logistic(f, ahead, inputs.parameter("label_smoothing")), margin);
}

/// The mean over the mismatched rows of all ranks, at least 0; evaluation takes those of a rank's own batch.
static Value divergence(Formula &f, const LossInputs &inputs, Value ratios, Value mismatched) {
  Value sum = f.sum(f.mul(ratios, mismatched), {0}), count = f.sum(mismatched, {0});
  auto mean = [&](Value sum, Value count) { return f.maximum(f.div(sum, f.maximum(count, 1)), 0); };
  Value here = mean(sum, count);
  const dist::RankGroup group = dist::rowGroup(inputs.function);
  if (group.ranks == 1)
    return f.held(here);
  auto ofAll = [&](Value own) -> Value {
    return dist::AllReduceOp::create(f.b, f.loc, own, group, dist::ReduceKind::Sum).getResult(0);
  };
  Value there = mean(ofAll(f.held(sum)), ofAll(count));
  return f.held(train::ByModeOp::create(f.b, f.loc, here.getType(), there, here));
}

/// Rows are good (1) or not (0); those of -1 have an answer to another prompt, and only say how far the model
/// is from the reference.
FailureOr<ItemLosses> kto(Formula &f, const LossInputs &inputs) {
  FailureOr<Compared> rows = comparedWithReference(f, inputs);
  if (failed(rows))
    return failure();
  Value good = inputs.input("good", {shapeOf(inputs.labels)[0]}, f.b.getI64Type());
  if (!good)
    return failure();
  inputs.bound("good", 1, -1);
  Value ratios = rows->ratios;
  Value hasTokens = f.toF32(f.greater(rows->own.counts(f), 0));
  Value isGood = f.mul(f.toF32(f.equal(good, int64_t(1))), hasTokens),
        isBad = f.mul(f.toF32(f.equal(good, int64_t(0))), hasTokens),
        mismatched = f.mul(f.toF32(f.equal(good, int64_t(-1))), hasTokens);
  Value kl = divergence(f, inputs, ratios, mismatched);
  Value sign = f.sub(isGood, isBad);
  Value right = f.mul(f.mul(f.sub(ratios, kl), sign), betaOf(f, inputs)); // 0 of a mismatched row
  Value weights =
      f.add(f.mul(isGood, inputs.parameter("desirable")), f.mul(isBad, inputs.parameter("undesirable")));
  ItemLosses items;
  items.losses = f.mul(f.sigmoid(f.neg(right)), weights);
  items.counts = f.add(isGood, isBad);
  items.isOfBatch = true;
  addMetrics(f, items, right);
  items.metrics.push_back({abi::StepMetric::Kl, f.mul(kl, f.sum(items.counts, {0}))});
  return items;
}

/// Bradley-Terry: of one score a row.
FailureOr<ItemLosses> reward(Formula &f, const LossInputs &inputs) {
  const int64_t rows = rankOf(inputs.output()) == 0 ? 0 : shapeOf(inputs.output())[0];
  if (rows == 0 || elementCount(shapeOf(inputs.output())) != rows)
    return inputs.refuse() << "the output is " << inputs.output().getType() << ", expected one score a row";
  FailureOr<Pair> scores = pairOf(f, inputs, f.reshape(inputs.output(), {rows}));
  if (failed(scores))
    return failure();
  Value margin = scores->difference(f), losses = logistic(f, margin, 0);
  if (const double center = inputs.parameter("center"); center != 0)
    losses = f.add(losses, f.mul(f.square(f.add(scores->chosen, scores->rejected)), center));
  return ofPairs(f, losses, margin);
}

} // namespace kedge::autodiff
