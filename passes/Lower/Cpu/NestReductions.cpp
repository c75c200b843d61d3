#include "passes/Lower/Cpu/NestReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

void NestReductions::begin(unsigned pass) {
  reductions.clear();
  for (auto reduction : position.nest.body().getOps<sched::ReduceOp>())
    if (position.nest.passOf(reduction) == pass) {
      reductions.push_back(reduction);
      scalars.want(reduction.getInput());
    }
}

unsigned NestReductions::slotsOf(sched::ReduceOp reduction) const {
  return position.plan.lanesReduced ? position.plan.copies : position.copiesOf(reduction.getInput());
}

NestReductions::Values NestReductions::identities() {
  Values values;
  for (sched::ReduceOp reduction : reductions) {
    bool vectors = position.plan.lanesReduced || position.isInLanes(reduction.getInput());
    Value identity =
        ops.identity(reduction.getKind(), reduction.getType(), vectors ? position.plan.width : 1);
    values.append(slotsOf(reduction), identity);
  }
  return values;
}

NestReductions::Values NestReductions::combine(const Values &a, const Values &b) {
  Values values;
  for (sched::ReduceOp reduction : reductions)
    for (unsigned slot = 0; slot < slotsOf(reduction); ++slot)
      values.push_back(ops.combine(reduction.getKind(), a[values.size()], b[values.size()]));
  return values;
}

NestReductions::Values NestReductions::accumulate(Values accumulators) {
  const LoopPlan &plan = position.plan;
  unsigned next = 0;
  for (sched::ReduceOp reduction : reductions) {
    unsigned slots = slotsOf(reduction);
    unsigned used = plan.lanesReduced ? position.step.copies : slots;
    for (unsigned copy = 0; copy < used; ++copy) {
      Value value = scalars.at(reduction.getInput(), copy);
      if (plan.lanesReduced) {
        value = ops.splat(value, plan.width);
        if (position.isMasked(copy))
          value = arith::SelectOp::create(ops.builder, ops.loc, memory.mask(copy), value,
                                          ops.identity(reduction.getKind(), reduction.getType(), plan.width));
      }
      Value &accumulator = accumulators[next + copy];
      accumulator = ops.combine(reduction.getKind(), accumulator, value);
    }
    next += slots;
  }
  return accumulators;
}

// Halves 64 partial results until one is left; absent ones are neutral, so the tree is the same for any
// width.
Value NestReductions::horizontal(sched::ReductionKind kind, ArrayRef<Value> partials) {
  Values values(partials);
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  Value vector = values[0];
  auto &b = ops.builder;
  for (unsigned half = position.plan.width / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (unsigned lane = 0; lane < half; ++lane)
      low.push_back(lane), high.push_back(lane + half);
    vector = ops.combine(kind, vector::ShuffleOp::create(b, ops.loc, vector, vector, low),
                         vector::ShuffleOp::create(b, ops.loc, vector, vector, high));
  }
  return position.plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, ops.loc, vector, 0));
}

void NestReductions::finish(const Values &accumulators) {
  unsigned next = 0;
  for (sched::ReduceOp reduction : reductions) {
    unsigned slots = slotsOf(reduction);
    ArrayRef<Value> partials = ArrayRef(accumulators).slice(next, slots);
    scalars.known[reduction.getResult()] =
        position.plan.lanesReduced ? Values{horizontal(reduction.getKind(), partials)} : Values(partials);
    next += slots;
  }
  reductions.clear();
}
