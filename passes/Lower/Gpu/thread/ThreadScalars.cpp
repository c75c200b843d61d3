#include "passes/Lower/Gpu/thread/ThreadScalars.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

// The lanes of two vectors behind each other.
Value ThreadScalars::joined(Value low, Value high) {
  SmallVector<int64_t> lanes(llvm::to_vector(llvm::seq<int64_t>(widthOf(low) + widthOf(high))));
  return vector::ShuffleOp::create(ops.builder, ops.loc, low, high, lanes);
}

Value ThreadScalars::emitIndex(sched::IndexOp op, unsigned copy) {
  return memory.index(nest.index[op.getDim()], copy, lanesOf(op.getResult()));
}

// One draw gives the numbers of four neighbours.
std::optional<BodyWalk::Values> ThreadScalars::emitTogether(sched::RandomOp random) {
  if (position.plan.width % 4 != 0 || !position.isInLanes(random))
    return std::nullopt;
  for (Value scalar : {random.getSeed(), random.getStep(), random.getRow()})
    if (position.isInLanes(scalar))
      return std::nullopt;
  auto element = nest.runOf(random.getElement(), position.plan.lanesDim);
  if (!element || element->stride != 1 || element->restDivisor % 4 != 0)
    return std::nullopt;
  Values values;
  for (unsigned copy = 0; copy < copiesOf(random); ++copy) {
    Value numbers;
    for (unsigned lane = 0; lane < position.plan.width; lane += 4) {
      Value first = vector::ExtractOp::create(ops.builder, ops.loc, at(random.getElement(), copy), lane);
      Value block = ops.randomBlock(random, at(random.getSeed(), copy), at(random.getStep(), copy),
                                    at(random.getRow(), copy), first);
      numbers = lane == 0 ? block : joined(numbers, block);
    }
    values.push_back(numbers);
  }
  return values;
}
