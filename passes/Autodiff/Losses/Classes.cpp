// Losses of logits beside classes.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/Losses/Losses.h"
#include <limits>

namespace kedge::autodiff {
using namespace mlir;

static ItemLosses ofClasses(Formula &f, const LossInputs &inputs, Value losses) {
  ItemLosses items;
  items.losses = losses;
  items.counts = f.cast(f.negate(f.equal(inputs.labels, inputs.ignoreIndex)), elementOf(losses));
  return items;
}

FailureOr<ItemLosses> crossEntropy(Formula &f, const LossInputs &inputs) {
  return ofClasses(
      f, inputs,
      f.crossEntropy(inputs.output(), inputs.labels, inputs.classAxis, inputs.ignoreIndex, inputs.smoothing));
}

/// Poly-1: cross-entropy and epsilon (1 - p) of the label, which is 0 of an ignored one.
FailureOr<ItemLosses> poly(Formula &f, const LossInputs &inputs) {
  if (inputs.smoothing != 0)
    return inputs.refuse() << "--label-smoothing is for cross-entropy; leave one of them out";
  Value losses = f.crossEntropy(inputs.output(), inputs.labels, inputs.classAxis, inputs.ignoreIndex);
  Value rest = f.add(f.neg(f.exp(f.neg(losses))), 1);
  return ofClasses(f, inputs, f.add(losses, f.mul(rest, inputs.parameter("epsilon"))));
}

namespace {

/// Probabilities of all alignments of a row's labels with its steps, by PyTorch's recursion, as logarithms.
/// Places of the row: blank, label, blank, ..., label, blank.
class Alignments {
public:
  Alignments(Formula &f, const LossInputs &inputs, Value labels)
      : f(f), inputs(inputs), labels(labels), rows(shapeOf(labels)[0]), length(shapeOf(labels)[1]),
        places(2 * length + 1), blank(static_cast<int64_t>(inputs.parameter("blank"))) {}

  /// -log p of each row.
  Value losses(Value steps) {
    Value padding = f.equal(labels, inputs.ignoreIndex);
    Value known = f.where(padding, static_cast<double>(blank), labels);
    Value targets = targetsOf(known);
    counts = f.sum(f.toF32(f.negate(padding)), {1});
    skip = skipsOf(targets);
    const int64_t time = shapeOf(inputs.output())[1];
    Value logs = logProbabilities(targets, time);
    Value alpha;
    for (int64_t step = 0; step < time; ++step) {
      Value now = f.reshape(f.slice(logs, 1, step, step + 1), {rows, places});
      Value next = alpha ? f.add(now, before(alpha)) : first(now);
      if (alpha && steps)
        next = f.where(f.greater(steps, static_cast<double>(step)), next, alpha);
      alpha = next;
    }
    return f.neg(last(alpha));
  }

  Value counts; ///< labels of each row

private:
  static constexpr double kNone = -1e30; ///< log of 0, without infinities in gradients

  Value blanks(int64_t width) {
    return f.cast(f.filled({rows, width}, static_cast<double>(blank)), f.b.getI64Type());
  }

  Value targetsOf(Value known) {
    Value pairs =
        f.concat({f.reshape(blanks(length), {rows, length, 1}), f.reshape(known, {rows, length, 1})}, 2);
    return f.concat({f.reshape(pairs, {rows, 2 * length}), blanks(1)}, 1);
  }

  /// 0 at places that may follow the last but one: labels that differ from the one before.
  Value skipsOf(Value targets) {
    if (places < 3)
      return f.filled({rows, places}, kNone);
    Value own = f.slice(targets, 1, 2, places), other = f.slice(targets, 1, 0, places - 2);
    Value same = f.equal(own, other), isBlank = f.equal(own, blank);
    Value may = f.both(f.negate(same), f.negate(isBlank));
    Value none = f.filled({rows, places - 2}, kNone);
    return f.concat({f.filled({rows, 2}, kNone), f.where(may, f.mul(none, 0), none)}, 1);
  }

  Value logProbabilities(Value targets, int64_t time);

  Value first(Value now) {
    const int64_t starts = std::min<int64_t>(2, places);
    Value begin = f.slice(now, 1, 0, starts);
    return places == starts ? begin : f.concat({begin, f.filled({rows, places - starts}, kNone)}, 1);
  }

  Value shifted(Value alpha, int64_t by) {
    return f.concat({f.filled({rows, by}, kNone), f.slice(alpha, 1, 0, places - by)}, 1);
  }

  Value before(Value alpha) {
    if (places == 1)
      return alpha;
    SmallVector<Value> ways = {alpha, shifted(alpha, 1)};
    if (places > 2)
      ways.push_back(f.add(shifted(alpha, 2), skip));
    for (Value &way : ways)
      way = f.reshape(way, {rows, places, 1});
    return f.logSumExp(f.concat(ways, 2), 2);
  }

  /// Alignments end at the last label or the blank behind it.
  Value last(Value alpha) {
    Value doubled = f.mul(counts, 2);
    Value blankEnd = f.reshape(f.cast(doubled, f.b.getI64Type()), {rows, 1});
    Value labelEnd = f.reshape(f.cast(f.maximum(f.add(doubled, -1), 0), f.b.getI64Type()), {rows, 1});
    Value ends = f.take(alpha, f.concat({blankEnd, labelEnd}, 1), 1);
    Value isEmpty = f.reshape(f.lessOrEqual(counts, 0), {rows, 1});
    Value never = f.concat({f.filled({rows, 1}, 0), f.where(isEmpty, kNone, f.filled({rows, 1}, 0))}, 1);
    return f.logSumExp(f.add(ends, never), 1);
  }

  Formula &f;
  const LossInputs &inputs;
  Value labels, skip;
  int64_t rows, length, places, blank;
};

} // namespace

Value Alignments::logProbabilities(Value targets, int64_t time) {
  Value index = f.expand(f.reshape(targets, {rows, 1, places}), {rows, time, places});
  return f.take(f.logSoftmax(inputs.output(), 2), index, 2);
}

/// PyTorch's mean: each row's loss over the number of its labels, then over rows.
FailureOr<ItemLosses> ctc(Formula &f, const LossInputs &inputs) {
  Value output = inputs.output();
  if (rankOf(output) != 3 || inputs.classAxis != 2)
    return inputs.refuse() << "the output is " << output.getType() << " with classes along axis "
                           << inputs.classAxis << ", expected [rows, steps, classes]";
  const int64_t rows = shapeOf(output)[0];
  if (inputs.parameter("blank") >= static_cast<double>(shapeOf(output)[2]))
    return inputs.refuse() << "blank is none of " << shapeOf(output)[2] << " classes";
  Value labels = inputs.labels;
  if (!labels && inputs.parameter("length") == 0)
    return inputs.refuse() << "how many labels a row has at most is not known; give it, as in ctc:length=20, "
                              "rows with fewer are filled up with "
                           << inputs.ignoreIndex;
  if (!labels)
    labels = inputs.input(inputs.labelsName, {rows, static_cast<int64_t>(inputs.parameter("length"))},
                          f.b.getI64Type());
  if (!labels)
    return failure();
  if (rankOf(labels) != 2 || shapeOf(labels)[0] != rows || !elementOf(labels).isInteger(64))
    return inputs.refuse() << "the labels are " << labels.getType() << ", expected [" << rows
                           << ", labels of a row at most] of i64";
  inputs.bound(inputs.labelsName, shapeOf(output)[2] - 1, inputs.ignoreIndex);
  Value steps;
  if (inputs.parameter("lengths") != 0) {
    Value given = inputs.input("input_lengths", {rows}, f.b.getI64Type());
    if (!given)
      return failure();
    inputs.bound("input_lengths", shapeOf(output)[1], 0);
    steps = f.reshape(f.toF32(given), {rows, 1});
  }
  Alignments alignments(f, inputs, labels);
  Value losses = alignments.losses(steps);
  Value impossible = f.greater(losses, 1e29);
  const double instead = inputs.parameter("zero_infinity") != 0 ? 0 : std::numeric_limits<double>::infinity();
  losses = f.where(impossible, f.filled({rows}, instead), losses);
  ItemLosses items;
  items.losses = f.div(losses, f.maximum(alignments.counts, 1));
  return items;
}

} // namespace kedge::autodiff
