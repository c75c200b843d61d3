#include "passes/Lower/Cpu/NestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {
bool isSubset(const llvm::SmallBitVector &part, const llvm::SmallBitVector &whole) { return !part.test(whole); }
} // namespace

//===- Scalars of the body ------------------------------------------------------------------------------===//

Value NestEmitter::at(Value v, unsigned copy) const {
  const Values &values = env.find(v)->second;
  return values.size() == 1 ? values[0] : values[copy];
}

void NestEmitter::want(Value v) {
  if (!wanted.insert(v).second)
    return;
  if (Operation *op = v.getDefiningOp(); op && !isa<sched::ReduceOp>(op))
    for (Value operand : op->getOperands())
      want(operand);
}

bool NestEmitter::isReady(Operation &op) const {
  Value result = op.getResult(0);
  return !isa<sched::ReduceOp>(op) && wanted.contains(result) && !env.contains(result) &&
         isSubset(nest.dims.find(result)->second, entered) &&
         llvm::all_of(op.getOperands(), [&](Value operand) { return env.contains(operand); });
}

// Numbers of consecutive elements from a multiple of four on come from one draw a block.
bool NestEmitter::emitRandomRun(sched::RandomOp random) {
  if (plan.width != 16 || plan.copies > 4 || !nest.has(random, plan.lanesDim))
    return false;
  for (Value scalar : {random.getSeed(), random.getStep(), random.getRow()})
    if (nest.has(scalar, plan.lanesDim))
      return false;
  auto element = nest.runOf(random.getElement(), plan.lanesDim);
  if (!element || element->stride != 1 || element->restDivisor % 4 != 0)
    return false;
  Value first = vector::ExtractOp::create(b, loc, at(random.getElement(), 0), 0);
  env[random] = ops.randomRun(random, at(random.getSeed(), 0), at(random.getStep(), 0), at(random.getRow(), 0), first,
                              plan.width, step.copies);
  return true;
}

void NestEmitter::emitOp(Operation &op) {
  Value result = op.getResult(0);
  if (auto random = dyn_cast<sched::RandomOp>(op); random && emitRandomRun(random))
    return;
  unsigned width = widthFor(result);
  Values values;
  for (unsigned copy = 0; copy < copiesOf(result); ++copy) {
    if (auto index = dyn_cast<sched::IndexOp>(op)) {
      values.push_back(expand(nest.index[index.getDim()], copy, 64, width > 1));
      continue;
    }
    Values operands;
    for (Value operand : op.getOperands())
      operands.push_back(ops.splat(at(operand, copy), width));
    auto random = dyn_cast<sched::RandomOp>(op);
    values.push_back(random ? ops.random(random, operands, width) : ops.emit(&op, operands, width));
  }
  env[result] = std::move(values);
}

void NestEmitter::emitAvailable() {
  for (BlockArgument argument : nest.body().getArguments())
    if (wanted.contains(argument) && !env.contains(argument) && isSubset(nest.dims.find(argument)->second, entered))
      env[argument] = load(argument.getArgNumber());
  for (Operation &op : nest.body().without_terminator())
    if (isReady(op))
      emitOp(op);
}

//===- One row ------------------------------------------------------------------------------------------===//

unsigned NestEmitter::slotsOf(sched::ReduceOp fold) const {
  return plan.lanesReduced ? plan.copies : copiesOf(fold.getInput());
}

NestEmitter::Values NestEmitter::identities() {
  Values values;
  for (sched::ReduceOp fold : folds) {
    bool vectors = plan.lanesReduced || nest.has(fold.getInput(), plan.lanesDim);
    Value identity = ops.identity(fold.getKind(), fold.getType(), vectors ? plan.width : 1);
    values.append(slotsOf(fold), identity);
  }
  return values;
}

NestEmitter::Values NestEmitter::combine(const Values &a, const Values &b) {
  Values values;
  for (sched::ReduceOp fold : folds)
    for (unsigned slot = 0; slot < slotsOf(fold); ++slot)
      values.push_back(ops.combine(fold.getKind(), a[values.size()], b[values.size()]));
  return values;
}

NestEmitter::Values NestEmitter::accumulate(Values accumulators) {
  unsigned position = 0;
  for (sched::ReduceOp fold : folds) {
    unsigned slots = slotsOf(fold);
    unsigned used = plan.lanesReduced ? step.copies : slots;
    for (unsigned copy = 0; copy < used; ++copy) {
      Value value = at(fold.getInput(), copy);
      if (plan.lanesReduced) {
        value = ops.splat(value, plan.width);
        if (isMasked(copy))
          value = arith::SelectOp::create(b, loc, mask(copy), value,
                                          ops.identity(fold.getKind(), fold.getType(), plan.width));
      }
      Value &accumulator = accumulators[position + copy];
      accumulator = ops.combine(fold.getKind(), accumulator, value);
    }
    position += slots;
  }
  return accumulators;
}

// Halves 64 partial results until one is left; absent ones are neutral, so the tree is the same for any width.
Value NestEmitter::horizontal(sched::FoldKind kind, ArrayRef<Value> partials) {
  Values values(partials);
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  Value vector = values[0];
  for (unsigned half = plan.width / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (unsigned lane = 0; lane < half; ++lane)
      low.push_back(lane), high.push_back(lane + half);
    vector = ops.combine(kind, vector::ShuffleOp::create(b, loc, vector, vector, low),
                         vector::ShuffleOp::create(b, loc, vector, vector, high));
  }
  return plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, loc, vector, 0));
}

void NestEmitter::foldPass(unsigned pass) {
  folds.clear();
  auto outside = std::exchange(wanted, {});
  for (auto fold : nest.body().getOps<sched::ReduceOp>())
    if (nest.passOf(fold) == pass) {
      folds.push_back(fold);
      want(fold.getInput());
    }
  emitAvailable();
  Values results = reducedLoops(0, identities(), [&](Values accumulators) {
    emitAvailable();
    return accumulate(std::move(accumulators));
  });
  unsigned position = 0;
  for (sched::ReduceOp fold : folds) {
    unsigned slots = slotsOf(fold);
    ArrayRef<Value> partials = ArrayRef(results).slice(position, slots);
    env[fold.getResult()] = plan.lanesReduced ? Values{horizontal(fold.getKind(), partials)} : Values(partials);
    position += slots;
  }
  folds.clear();
  wanted = std::move(outside);
}

void NestEmitter::pointPass() {
  SmallVector<unsigned> points;
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (nest.isPoint(output))
      points.push_back(number);
  if (points.empty())
    return;
  auto outside = std::exchange(wanted, {});
  for (unsigned output : points)
    want(nest.yield().getOperand(output));
  reducedLoops(0, {}, [&](Values) {
    emitAvailable();
    for (unsigned output : points)
      store(output);
    return Values();
  });
  wanted = std::move(outside);
}

void NestEmitter::row() {
  for (unsigned pass = 0; pass < nest.passes; ++pass) {
    foldPass(pass);
    emitAvailable();
  }
  pointPass();
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (!nest.isPoint(output))
      store(number);
}
