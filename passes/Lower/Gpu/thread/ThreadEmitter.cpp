#include "passes/Lower/Gpu/thread/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

ThreadEmitter::ThreadEmitter(OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, ClusterNest &nest,
                             const GpuPlan &plan)
    : b(builder), loc(kernel.getLoc()), nest(nest), plan(plan), ops(builder, loc, Conversions::Device),
      position(ops, nest, plan), memory(ops, kernel, position), scalars(ops, position, memory),
      reductions(ops, kernel, position, scalars), sums(ops, kernel, position, memory, scalars) {}

void ThreadEmitter::emit() {
  if (plan.walksRows)
    nest.reduced[plan.lanesDim] = true;
  position.readPosition();
  if (!plan.summed.empty())
    return rowsInTurn();
  if (plan.team > 1) {
    // Threads of a team meet in shuffles and barriers: those without a group walk the last one and store
    // nothing.
    position.enterGroup();
    return group();
  }
  position.guarded(std::exchange(position.groupValid, Value()), [&] {
    position.enterGroup();
    group();
  });
}

void ThreadEmitter::rowsInTurn() {
  position.enterGroup();
  auto turn = [&](OpBuilder &, Location, Value index, ValueRange inner) {
    totals = Values(inner);
    position.enterRow(index);
    group();
    position.leaveSlots();
    // Shared memory of the reductions is written again in the next turn.
    if (plan.team > 32)
      mlir::gpu::BarrierOp::create(b, loc);
    scf::YieldOp::create(b, loc, totals);
  };
  auto loop = scf::ForOp::create(b, loc, number(0), number(plan.rows / plan.groupsPerBlock), number(1),
                                 sums.identities(), turn);
  sums.store(Values(loop.getResults()));
}

void ThreadEmitter::group() {
  // What is read once a group is read before anything is stored: outputs may lie on inputs.
  scalars.wantAll();
  scalars.emitAvailable();
  if (plan.walksRows)
    position.enterSlots(arith::AddIOp::create(b, loc, position.begin, position.rank), plan.slots,
                        plan.units % plan.chunk ? 0 : plan.chunk);
  else if (plan.inRegisters)
    position.enterSlots(position.rank, plan.slots, plan.units);
  for (unsigned pass = 0; pass < nest.passes; ++pass)
    reductionPass(pass);
  pointPass();
  storeRows();
}

ThreadEmitter::Values ThreadEmitter::unitLoop(Value from, Value to, bool masked, Values accumulators,
                                              Leaf leaf) {
  auto saved = scalars.known;
  int64_t step = plan.team * plan.slots;
  auto body = [&](OpBuilder &, Location, Value start, ValueRange inner) {
    Value first = arith::AddIOp::create(b, loc, start, position.rank);
    // Not the last ones of a row.
    position.enterSlots(first, plan.slots, masked ? 0 : step + plan.ragged);
    scf::YieldOp::create(b, loc, leaf(Values(inner)));
    position.leaveSlots();
  };
  auto loop = scf::ForOp::create(b, loc, from, to, number(step), accumulators, body);
  scalars.known = std::move(saved);
  return Values(loop.getResults());
}

ThreadEmitter::Values ThreadEmitter::overUnits(Values accumulators, Leaf leaf) {
  int64_t step = plan.team * plan.slots;
  if (plan.splits > 1) {
    Value end = arith::AddIOp::create(b, loc, position.begin, number(plan.chunk));
    return unitLoop(position.begin, end, plan.ragged || plan.units % plan.chunk != 0, std::move(accumulators),
                    leaf);
  }
  // The last access of a ragged row is looked at.
  int64_t whole = (plan.units - plan.ragged) / step * step, rest = plan.units - whole;
  if (whole)
    accumulators = unitLoop(number(0), number(whole), false, std::move(accumulators), leaf);
  if (rest) {
    auto saved = scalars.known;
    Value first = arith::AddIOp::create(b, loc, number(whole), position.rank);
    position.enterSlots(first, llvm::divideCeil(rest, plan.team), rest);
    accumulators = leaf(std::move(accumulators));
    position.leaveSlots();
    scalars.known = std::move(saved);
  }
  return accumulators;
}

void ThreadEmitter::reductionPass(unsigned pass) {
  SmallVector<unsigned> points = pointsOf(pass);
  reductions.begin(pass);
  want(points);
  scalars.emitAvailable();
  if (plan.inRegisters)
    return reductions.finishInRegisters();
  reductions.finish(overUnits(reductions.identities(), [&](Values accumulators) {
    scalars.emitAvailable();
    accumulators = reductions.accumulate(std::move(accumulators));
    storePoints(points);
    return accumulators;
  }));
}

// What waits for no later reduction is stored in the loop that has its scalars. In registers all of them stay
// until the end.
SmallVector<unsigned> ThreadEmitter::pointsOf(unsigned pass) {
  SmallVector<unsigned> numbers;
  for (auto [number, output] : llvm::enumerate(nest.outputs)) {
    unsigned ready = plan.inRegisters ? nest.passes : nest.phase.lookup(nest.yield().getOperand(number));
    if (nest.isPoint(output) && !nest.sumOf(number) && ready == pass)
      numbers.push_back(number);
  }
  return numbers;
}

SmallVector<unsigned> ThreadEmitter::rowOutputs() {
  SmallVector<unsigned> numbers;
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (!nest.isPoint(output))
      numbers.push_back(number);
  return numbers;
}

void ThreadEmitter::want(ArrayRef<unsigned> outputs) {
  for (unsigned output : outputs)
    scalars.want(nest.yield().getOperand(output));
}

void ThreadEmitter::store(unsigned output, unsigned copy) {
  memory.store(output, copy, scalars.at(nest.yield().getOperand(output), copy));
}

void ThreadEmitter::storePoints(ArrayRef<unsigned> outputs) {
  if (outputs.empty())
    return;
  for (unsigned slot = 0; slot < position.slots.size(); ++slot)
    position.guarded(position.both(position.slots[slot].valid, position.groupValid), [&] {
      for (unsigned output : outputs)
        store(output, slot);
    });
}

void ThreadEmitter::pointPass() {
  SmallVector<unsigned> points = pointsOf(nest.passes);
  if (points.empty() && sums.empty())
    return;
  scalars.wanted.clear();
  want(points);
  sums.want();
  auto storeAll = [&](Values) {
    scalars.emitAvailable();
    // First, since a point may lie on what sums read.
    totals = sums.add(std::move(totals));
    storePoints(points);
    return Values();
  };
  scalars.emitAvailable();
  if (plan.inRegisters)
    storeAll({});
  else
    overUnits({}, storeAll);
}

void ThreadEmitter::storeRows() {
  SmallVector<unsigned> rows = rowOutputs();
  if (rows.empty())
    return;
  scalars.wanted.clear();
  want(rows);
  scalars.emitAvailable();
  Value isFirst;
  if (plan.team > 1)
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, position.rank, number(0));
  position.guarded(position.both(isFirst, position.groupValid), [&] {
    for (unsigned output : rows)
      store(output, 0);
  });
}
