#include "passes/Lower/Cpu/NestFolds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

void NestFolds::begin(unsigned pass) {
  folds.clear();
  for (auto fold : place.nest.body().getOps<sched::ReduceOp>())
    if (place.nest.passOf(fold) == pass) {
      folds.push_back(fold);
      scalars.want(fold.getInput());
    }
}

unsigned NestFolds::slotsOf(sched::ReduceOp fold) const {
  return place.plan.lanesReduced ? place.plan.copies : place.copiesOf(fold.getInput());
}

NestFolds::Values NestFolds::identities() {
  Values values;
  for (sched::ReduceOp fold : folds) {
    bool vectors = place.plan.lanesReduced || place.isInLanes(fold.getInput());
    Value identity = ops.identity(fold.getKind(), fold.getType(), vectors ? place.plan.width : 1);
    values.append(slotsOf(fold), identity);
  }
  return values;
}

NestFolds::Values NestFolds::combine(const Values &a, const Values &b) {
  Values values;
  for (sched::ReduceOp fold : folds)
    for (unsigned slot = 0; slot < slotsOf(fold); ++slot)
      values.push_back(ops.combine(fold.getKind(), a[values.size()], b[values.size()]));
  return values;
}

NestFolds::Values NestFolds::accumulate(Values accumulators) {
  const LoopPlan &plan = place.plan;
  unsigned position = 0;
  for (sched::ReduceOp fold : folds) {
    unsigned slots = slotsOf(fold);
    unsigned used = plan.lanesReduced ? place.step.copies : slots;
    for (unsigned copy = 0; copy < used; ++copy) {
      Value value = scalars.at(fold.getInput(), copy);
      if (plan.lanesReduced) {
        value = ops.splat(value, plan.width);
        if (place.isMasked(copy))
          value = arith::SelectOp::create(ops.builder, ops.loc, memory.mask(copy), value,
                                          ops.identity(fold.getKind(), fold.getType(), plan.width));
      }
      Value &accumulator = accumulators[position + copy];
      accumulator = ops.combine(fold.getKind(), accumulator, value);
    }
    position += slots;
  }
  return accumulators;
}

// Halves 64 partial results until one is left; absent ones are neutral, so the tree is the same for any
// width.
Value NestFolds::horizontal(sched::FoldKind kind, ArrayRef<Value> partials) {
  Values values(partials);
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  Value vector = values[0];
  auto &b = ops.builder;
  for (unsigned half = place.plan.width / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (unsigned lane = 0; lane < half; ++lane)
      low.push_back(lane), high.push_back(lane + half);
    vector = ops.combine(kind, vector::ShuffleOp::create(b, ops.loc, vector, vector, low),
                         vector::ShuffleOp::create(b, ops.loc, vector, vector, high));
  }
  return place.plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, ops.loc, vector, 0));
}

void NestFolds::finish(const Values &accumulators) {
  unsigned position = 0;
  for (sched::ReduceOp fold : folds) {
    unsigned slots = slotsOf(fold);
    ArrayRef<Value> partials = ArrayRef(accumulators).slice(position, slots);
    scalars.known[fold.getResult()] =
        place.plan.lanesReduced ? Values{horizontal(fold.getKind(), partials)} : Values(partials);
    position += slots;
  }
  folds.clear();
}
