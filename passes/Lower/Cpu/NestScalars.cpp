#include "passes/Lower/Cpu/NestScalars.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Cpu/TableSelects.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

Value NestScalars::emitIndex(sched::IndexOp op, unsigned copy) {
  return memory.index(nest.index[op.getDim()], copy);
}

// Numbers of consecutive elements from a multiple of four on come from one draw per block.
std::optional<BodyWalk::Values> NestScalars::emitTogether(sched::RandomOp random) {
  const LoopPlan &plan = position.plan;
  if (plan.width != 16 || plan.copies > 4 || !position.isInLanes(random))
    return std::nullopt;
  for (Value scalar : {random.getSeed(), random.getStep(), random.getRow()})
    if (position.isInLanes(scalar))
      return std::nullopt;
  auto element = nest.runOf(random.getElement(), plan.lanesDim);
  if (!element || element->stride != 1 || element->restDivisor % 4 != 0)
    return std::nullopt;
  Value first = vector::ExtractOp::create(ops.builder, ops.loc, at(random.getElement(), 0), 0);
  return ops.randomRun(random, at(random.getSeed(), 0), at(random.getStep(), 0), at(random.getRow(), 0),
                       first, plan.width, position.step.copies);
}

Value NestScalars::emitShorter(Operation &op, unsigned copy) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || position.plan.width != TableSelects::kEntries || !position.isInLanes(select))
    return {};
  std::optional<TableSelects> table = TableSelects::of(select);
  return table ? table->emit(ops.builder, ops.loc, ops.splat(at(table->code, copy), position.plan.width))
               : Value();
}
