#include "passes/Lower/Gpu/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;
using mlir::gpu::Dimension;

ThreadEmitter::ThreadEmitter(OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, ClusterNest &nest, const GpuPlan &plan)
    : b(builder), kernel(kernel), loc(kernel.getLoc()), nest(nest), plan(plan), ops(builder, loc),
      groupIndices(nest.rank()) {}

Value ThreadEmitter::threadId(Dimension dim) {
  Value id = mlir::gpu::ThreadIdOp::create(b, loc, b.getIndexType(), dim);
  return arith::IndexCastOp::create(b, loc, indexType(), id);
}

Value ThreadEmitter::blockId(Dimension dim) {
  Value id = mlir::gpu::BlockIdOp::create(b, loc, b.getIndexType(), dim);
  return arith::IndexCastOp::create(b, loc, indexType(), id);
}

void ThreadEmitter::readPosition() {
  Value thread = threadId(Dimension::x), first = blockId(Dimension::x);
  if (plan.groupsPerBlock > 1)
    first = arith::MulIOp::create(b, loc, first, number(plan.groupsPerBlock));
  if (plan.lanesReduced) {
    rank = plan.groupsPerBlock == 1 ? thread : Value(arith::RemUIOp::create(b, loc, thread, number(plan.team)));
    team = arith::DivUIOp::create(b, loc, thread, number(plan.team));
    groupNumber = plan.groupsPerBlock == 1 ? first : Value(arith::AddIOp::create(b, loc, first, team));
  } else {
    column = thread;
    rank = plan.team == 1 ? number(0) : threadId(Dimension::y);
    groupNumber = arith::AddIOp::create(b, loc, first, thread);
  }
  begin = plan.splits == 1 ? number(0)
                           : Value(arith::MulIOp::create(b, loc, blockId(Dimension::y), number(plan.chunk)));
  if (plan.groups % plan.groupsPerBlock)
    groupValid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, groupNumber, number(plan.groups));
}

// Row-major: the last dim runs fastest.
void ThreadEmitter::decompose(Value position, ArrayRef<unsigned> dims, Values &indices) {
  for (size_t level = dims.size(); level-- > 0;) {
    unsigned dim = dims[level];
    unsigned width = dim == plan.lanesDim ? plan.width : 1;
    Value index = position;
    if (level) {
      Value size = number(std::max<int64_t>(1, nest.sizes[dim] / width));
      index = arith::RemUIOp::create(b, loc, position, size);
      position = arith::DivUIOp::create(b, loc, position, size);
    }
    indices[dim] = width == 1 ? index : Value(arith::MulIOp::create(b, loc, index, number(width)));
  }
}

void ThreadEmitter::enterGroup() {
  Value position = groupNumber;
  if (groupValid)
    position = arith::MinUIOp::create(b, loc, position, number(plan.groups - 1));
  decompose(position, plan.parallel, groupIndices);
}

Value ThreadEmitter::both(Value a, Value b) {
  return !a ? b : !b ? a : Value(arith::AndIOp::create(this->b, loc, a, b));
}

void ThreadEmitter::guarded(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void ThreadEmitter::emit() {
  if (plan.tileDim)
    return tileGroup();
  if (plan.walksRows)
    nest.reduced[plan.lanesDim] = true;
  readPosition();
  if (plan.team > 1) {
    // Threads of a team meet in shuffles and barriers: those without a group walk the last one and store nothing.
    enterGroup();
    return group();
  }
  guarded(std::exchange(groupValid, Value()), [&] {
    enterGroup();
    group();
  });
}

void ThreadEmitter::group() {
  // What is read once a group is read before anything is stored: outputs may lie on inputs.
  for (Value output : nest.yield().getOperands())
    want(output);
  for (auto fold : nest.body().getOps<sched::ReduceOp>())
    want(fold.getInput());
  emitAvailable();
  if (plan.walksRows)
    enterSlots(arith::AddIOp::create(b, loc, begin, rank), plan.slots, plan.units % plan.chunk ? 0 : plan.chunk);
  else if (plan.inRegisters)
    enterSlots(rank, plan.slots, plan.units);
  for (unsigned pass = 0; pass < nest.passes; ++pass)
    foldPass(pass);
  pointPass();
  storeRows();
}

void ThreadEmitter::collectFolds(unsigned pass) {
  folds.clear();
  onlineSums.clear();
  wanted.clear();
  llvm::DenseSet<Operation *> paired;
  auto all = nest.body().getOps<sched::ReduceOp>();
  for (auto fold : all)
    if (sched::ReduceOp maximum = nest.maximumOf.lookup(fold); maximum && nest.passOf(fold) == pass) {
      onlineSums.push_back(fold);
      paired.insert(maximum);
      want(maximum.getInput());
    }
  for (auto fold : all)
    if (nest.passOf(fold) == pass && !nest.maximumOf.contains(fold) && !paired.contains(fold)) {
      folds.push_back(fold);
      want(fold.getInput());
    }
}

// A loop over the units, with an accumulator for each slot; gives those of `folds`, then a maximum and sums for each
// online sum.
ThreadEmitter::Values ThreadEmitter::foldUnits() {
  Values identities;
  for (sched::ReduceOp fold : folds)
    identities.append(plan.slots, ops.identity(fold.getKind(), fold.getType(), lanesOfFold(fold)));
  for (sched::ReduceOp sum : onlineSums) {
    sched::ReduceOp maximum = nest.maximumOf.lookup(sum);
    unsigned width = lanesOfFold(maximum);
    identities.push_back(ops.identity(maximum.getKind(), maximum.getType(), plan.lanesReduced ? 1 : width));
    identities.append(plan.slots, ops.identity(sum.getKind(), sum.getType(), width));
  }
  return overUnits(identities, [&](Values accumulators) {
    emitAvailable();
    for (auto [number, fold] : llvm::enumerate(folds))
      for (unsigned slot = 0; slot < slots.size(); ++slot) {
        Value &accumulator = accumulators[number * plan.slots + slot];
        accumulator = ops.combine(fold.getKind(), accumulator, foldedOfSlot(fold, slot));
      }
    MutableArrayRef<Value> pairs = MutableArrayRef(accumulators).drop_front(folds.size() * plan.slots);
    for (auto [number, sum] : llvm::enumerate(onlineSums)) {
      MutableArrayRef<Value> pair = pairs.slice(number * (plan.slots + 1), plan.slots + 1);
      accumulatePair(sum, pair.front(), pair.drop_front());
    }
    return accumulators;
  });
}

void ThreadEmitter::foldPass(unsigned pass) {
  collectFolds(pass);
  emitAvailable();
  Values joined, maxima, sums;
  if (plan.inRegisters) {
    for (sched::ReduceOp fold : folds) {
      Values list;
      for (unsigned slot = 0; slot < slots.size(); ++slot)
        list.push_back(foldedOfSlot(fold, slot));
      joined.push_back(ofThread(fold, list));
    }
  } else {
    Values results = foldUnits();
    ArrayRef<Value> rest(results);
    auto take = [&](size_t count) {
      Values taken(rest.take_front(count));
      rest = rest.drop_front(count);
      return taken;
    };
    for (sched::ReduceOp fold : folds)
      joined.push_back(ofThread(fold, take(plan.slots)));
    for (sched::ReduceOp sum : onlineSums) {
      maxima.push_back(take(1).front());
      sums.push_back(ofThread(sum, take(plan.slots)));
    }
  }
  for (auto [sum, maximum] : llvm::zip(onlineSums, maxima)) {
    folds.push_back(nest.maximumOf.lookup(sum));
    joined.push_back(maximum);
  }
  joinTeam(joined);
  for (auto [fold, value] : llvm::zip(folds, joined))
    env[fold.getResult()] = {value};
  if (!onlineSums.empty())
    joinPairs(maxima, sums);
  folds.clear();
}

void ThreadEmitter::pointPass() {
  SmallVector<unsigned> points;
  wanted.clear();
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (nest.isPoint(output)) {
      points.push_back(number);
      want(nest.yield().getOperand(number));
    }
  if (points.empty())
    return;
  auto storeAll = [&](Values) {
    emitAvailable();
    for (unsigned slot = 0; slot < slots.size(); ++slot)
      guarded(both(slots[slot].valid, groupValid), [&] {
        for (unsigned output : points)
          store(output, slot);
      });
    return Values();
  };
  emitAvailable();
  if (plan.inRegisters)
    storeAll({});
  else
    overUnits({}, storeAll);
}

void ThreadEmitter::storeRows() {
  SmallVector<unsigned> rows;
  wanted.clear();
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (!nest.isPoint(output)) {
      rows.push_back(number);
      want(nest.yield().getOperand(number));
    }
  if (rows.empty())
    return;
  emitAvailable();
  Value isFirst;
  if (plan.team > 1)
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rank, number(0));
  guarded(both(isFirst, groupValid), [&] {
    for (unsigned output : rows)
      store(output, 0);
  });
}

//===- Scalars of the body ------------------------------------------------------------------------------===//

bool ThreadEmitter::variesBySlot(Value v) const {
  if (plan.tileDim)
    return nest.has(v, *plan.tileDim);
  for (unsigned d : plan.reduced)
    if (nest.has(v, d))
      return true;
  return false;
}

Value ThreadEmitter::at(Value v, unsigned copy) const {
  const Values &values = env.find(v)->second;
  return values.size() == 1 ? values[0] : values[copy];
}

void ThreadEmitter::want(Value v) {
  if (!wanted.insert(v).second)
    return;
  if (Operation *op = v.getDefiningOp(); op && !isa<sched::ReduceOp>(op))
    for (Value operand : op->getOperands())
      want(operand);
}

bool ThreadEmitter::isEntered(Value v) const { return inUnits || !variesBySlot(v); }

bool ThreadEmitter::isReady(Operation &op) const {
  Value result = op.getResult(0);
  return !isa<sched::ReduceOp>(op) && wanted.contains(result) && !env.contains(result) && isEntered(result) &&
         llvm::all_of(op.getOperands(), [&](Value operand) { return env.contains(operand); });
}

void ThreadEmitter::emitAvailable() {
  for (BlockArgument argument : nest.body().getArguments())
    if (wanted.contains(argument) && !env.contains(argument) && isEntered(argument))
      load(argument.getArgNumber());
  for (Operation &op : nest.body().without_terminator())
    if (isReady(op))
      emitOp(op);
}

// One draw gives the four numbers of four neighbours.
bool ThreadEmitter::emitRandomBlock(sched::RandomOp random) {
  if (plan.width != 4 || !nest.has(random, plan.lanesDim))
    return false;
  for (Value scalar : {random.getSeed(), random.getStep(), random.getRow()})
    if (nest.has(scalar, plan.lanesDim))
      return false;
  auto element = nest.runOf(random.getElement(), plan.lanesDim);
  if (!element || element->stride != 1 || element->restDivisor % 4 != 0)
    return false;
  Values &values = env[random];
  for (unsigned copy = 0; copy < copiesOf(random); ++copy) {
    Value first = vector::ExtractOp::create(b, loc, at(random.getElement(), copy), 0);
    values.push_back(ops.randomBlock(random, at(random.getSeed(), copy), at(random.getStep(), copy),
                                     at(random.getRow(), copy), first));
  }
  return true;
}

void ThreadEmitter::emitOp(Operation &op) {
  Value result = op.getResult(0);
  if (auto random = dyn_cast<sched::RandomOp>(op); random && emitRandomBlock(random))
    return;
  unsigned width = widthOf(result);
  Values values;
  for (unsigned copy = 0; copy < copiesOf(result); ++copy) {
    if (auto index = dyn_cast<sched::IndexOp>(op)) {
      auto lane = [&](unsigned lane) -> Value {
        Value value = expand(nest.index[index.getDim()], indicesOf(copy), lane);
        return plan.wideIndex ? value : Value(arith::ExtSIOp::create(b, loc, b.getI64Type(), value));
      };
      values.push_back(width == 1 ? lane(0) : lanes(lane));
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
