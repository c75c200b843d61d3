// Losses of rows beside other rows: embeddings.
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "passes/Autodiff/Losses/Losses.h"
#include <numeric>

namespace kedge::autodiff {
using namespace mlir;

/// What belongs together: rows k i, k i + 1, ... of one output, or row i of each of k.
static FailureOr<SmallVector<Value>> together(Formula &f, const LossInputs &inputs, int64_t k) {
  if (rankOf(inputs.output()) != 2)
    return inputs.refuse() << "the output is " << inputs.output().getType() << ", expected [rows, width]";
  if (inputs.outputs.size() > 1) {
    if (static_cast<int64_t>(inputs.outputs.size()) != k)
      return inputs.refuse() << "has " << inputs.outputs.size() << " outputs, expected 1 or " << k;
    for (Value output : inputs.outputs)
      if (output.getType() != inputs.output().getType())
        return inputs.refuse() << "its outputs are " << inputs.output().getType() << " and "
                               << output.getType() << ", expected one shape";
    return inputs.outputs;
  }
  const int64_t rows = shapeOf(inputs.output())[0];
  if (rows % k != 0)
    return inputs.refuse() << "a batch has " << rows << " rows, expected a multiple of " << k
                           << ": what belongs together are " << k << " rows, one after the other";
  SmallVector<Value> parts;
  for (int64_t part = 0; part < k; ++part)
    parts.push_back(f.slice(inputs.output(), 0, part, rows, k));
  return parts;
}

namespace {

/// Of the ranks that read rows of their own.
class OtherRanks {
public:
  OtherRanks(Formula &f, func::FuncOp function) : f(f), group(dist::rowGroup(function)) {}

  int64_t count() const { return group.ranks; }

  /// The rows of all ranks, in their order. Its gradient is the sum of all ranks' gradients.
  Value allRows(Value own) {
    if (group.ranks == 1)
      return own;
    const ArrayRef<int64_t> shape = shapeOf(own);
    Value mine = f.toF32(f.equal(f.integers(numbers(0)), rank()));
    Value placed = f.mul(f.reshape(mine, {group.ranks, 1, 1}), f.reshape(own, {1, shape[0], shape[1]}));
    Value all = dist::AllReduceOp::create(f.b, f.loc, placed, group, dist::ReduceKind::Sum).getResult(0);
    return f.reshape(all, {group.ranks * shape[0], shape[1]});
  }

  /// Where own rows stand among them.
  Value places(int64_t rows) {
    SmallVector<int64_t> own(rows);
    std::iota(own.begin(), own.end(), 0);
    Value first = f.integers(own);
    return group.ranks == 1 ? first : f.add(f.mul(rank(), static_cast<double>(rows)), first);
  }

private:
  SmallVector<int64_t> numbers(int64_t first) {
    SmallVector<int64_t> all(group.ranks);
    std::iota(all.begin(), all.end(), first);
    return all;
  }

  Value rank() { return dist::LocalShardOp::create(f.b, f.loc, f.integers(numbers(0)), group).getResult(0); }

  Formula &f;
  dist::RankGroup group;
};

/// Cross-entropy of each row's similarities: its pair against all others.
class Similarities {
public:
  Similarities(Formula &f, const LossInputs &inputs) : f(f), inputs(inputs), ranks(f, inputs.function) {}

  Value losses(Value rows, Value pairs) {
    const int64_t count = shapeOf(rows)[0];
    Value there = of(rows, ranks.allRows(pairs), ranks.places(count));
    if (ranks.count() == 1)
      return there;
    // Evaluation is of each rank's own batch: its loss does not depend on the number of ranks.
    SmallVector<int64_t> own(count);
    std::iota(own.begin(), own.end(), 0);
    return train::ByModeOp::create(f.b, f.loc, there.getType(), there, of(rows, pairs, f.integers(own)));
  }

private:
  Value of(Value rows, Value others, Value places) {
    constexpr int64_t kNoLabel = -100;
    Value logits = f.mul(f.products(rows, others), 1 / inputs.parameter("temperature"));
    return f.crossEntropy(logits, places, 1, kNoLabel);
  }

  Formula &f;
  const LossInputs &inputs;
  OtherRanks ranks;
};

} // namespace

static Value ofLengthOne(Formula &f, Value rows) {
  constexpr double kShortest = 1e-12; // PyTorch's normalize
  return f.div(rows, f.maximum(f.sqrt(f.sum(f.square(rows), {1}, true)), kShortest));
}

FailureOr<ItemLosses> contrastive(Formula &f, const LossInputs &inputs) {
  FailureOr<SmallVector<Value>> parts = together(f, inputs, 2);
  if (failed(parts))
    return failure();
  if (inputs.parameter("normalize") != 0)
    for (Value &part : *parts)
      part = ofLengthOne(f, part);
  Similarities similarities(f, inputs);
  ItemLosses items;
  items.losses = similarities.losses((*parts)[0], (*parts)[1]);
  if (inputs.parameter("symmetric") != 0)
    items.losses = f.mul(f.add(items.losses, similarities.losses((*parts)[1], (*parts)[0])), 0.5);
  items.rowsPerItem = inputs.outputs.size() > 1 ? 1 : 2;
  items.isOfBatch = true;
  return items;
}

/// PyTorch's pairwise distance.
static Value distance(Formula &f, Value x, Value y) {
  constexpr double kApart = 1e-6;
  return f.sqrt(f.sum(f.square(f.add(f.sub(x, y), kApart)), {1}));
}

/// PyTorch's triplet_margin_loss.
FailureOr<ItemLosses> triplet(Formula &f, const LossInputs &inputs) {
  FailureOr<SmallVector<Value>> parts = together(f, inputs, 3);
  if (failed(parts))
    return failure();
  Value anchor = (*parts)[0], like = (*parts)[1], unlike = (*parts)[2];
  Value far = distance(f, anchor, unlike);
  if (inputs.parameter("swap") != 0)
    far = f.minimum(far, distance(f, like, unlike));
  ItemLosses items;
  items.losses = f.relu(f.add(f.sub(distance(f, anchor, like), far), inputs.parameter("margin")));
  items.rowsPerItem = inputs.outputs.size() > 1 ? 1 : 3;
  return items;
}

} // namespace kedge::autodiff
