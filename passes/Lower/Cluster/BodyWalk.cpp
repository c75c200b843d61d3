#include "passes/Lower/Cluster/BodyWalk.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

Value BodyWalk::at(Value v, unsigned copy) const {
  const Values &values = known.find(v)->second;
  return values.size() == 1 ? values[0] : values[copy];
}

void BodyWalk::want(Value v) {
  if (!wanted.insert(v).second)
    return;
  if (Operation *op = v.getDefiningOp(); op && !isa<sched::ReduceOp>(op))
    for (Value operand : op->getOperands())
      want(operand);
}

void BodyWalk::wantAll() {
  for (Value output : nest.yield().getOperands())
    want(output);
  for (auto reduction : nest.body().getOps<sched::ReduceOp>())
    want(reduction.getInput());
}

bool BodyWalk::isReady(Operation &op) const {
  Value result = op.getResult(0);
  return !isa<sched::ReduceOp, sched::SumOp>(op) && wanted.contains(result) && !known.contains(result) &&
         isEntered(result) &&
         llvm::all_of(op.getOperands(), [&](Value operand) { return known.contains(operand); });
}

BodyWalk::Values BodyWalk::emitOp(Operation &op) {
  if (auto random = dyn_cast<sched::RandomOp>(op))
    if (std::optional<Values> values = emitTogether(random))
      return std::move(*values);
  Values values;
  for (unsigned copy = 0; copy < copiesOf(op.getResult(0)); ++copy)
    values.push_back(emitCopy(op, copy));
  return values;
}

Value BodyWalk::emitCopy(Operation &op, unsigned copy) {
  if (auto index = dyn_cast<sched::IndexOp>(op))
    return emitIndex(index, copy);
  if (Value shorter = emitShorter(op, copy))
    return shorter;
  unsigned width = lanesOf(op.getResult(0));
  Values operands;
  for (Value operand : op.getOperands())
    operands.push_back(ops.splat(at(operand, copy), width));
  auto random = dyn_cast<sched::RandomOp>(op);
  return random ? ops.random(random, operands, width) : ops.emit(&op, operands, width);
}

void BodyWalk::emitAvailable() {
  for (BlockArgument argument : nest.body().getArguments())
    if (wanted.contains(argument) && !known.contains(argument) && isEntered(argument))
      known[argument] = load(argument.getArgNumber());
  for (Operation &op : nest.body().without_terminator())
    if (isReady(op))
      known[op.getResult(0)] = emitOp(op);
}
