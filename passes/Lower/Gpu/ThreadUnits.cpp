// The units of a group that a thread walks.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lower/Gpu/ThreadEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

// Slots hold units first, first + team, ...; `known` of the units from the team's first one on surely exist.
void ThreadEmitter::enterSlots(Value first, int64_t count, int64_t known) {
  inUnits = true;
  for (int64_t at = 0; at < count; ++at) {
    Slot slot;
    slot.indices = groupIndices;
    Value unit = at ? Value(arith::AddIOp::create(b, loc, first, number(at * plan.team))) : first;
    if ((at + 1) * plan.team > known) {
      slot.valid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, unit, number(plan.units));
      unit = arith::MinUIOp::create(b, loc, unit, number(plan.units - 1));
    }
    decompose(unit, plan.reduced, slot.indices);
    slots.push_back(std::move(slot));
  }
}

void ThreadEmitter::leaveSlots() {
  slots.clear();
  inUnits = false;
}

ThreadEmitter::Values ThreadEmitter::unitLoop(Value from, Value to, bool masked, Values accumulators, Leaf leaf) {
  auto saved = env;
  int64_t step = plan.team * plan.slots;
  auto body = [&](OpBuilder &, Location, Value start, ValueRange inner) {
    Value first = arith::AddIOp::create(b, loc, start, rank);
    enterSlots(first, plan.slots, masked ? 0 : step);
    scf::YieldOp::create(b, loc, leaf(Values(inner)));
    leaveSlots();
  };
  auto loop = scf::ForOp::create(b, loc, from, to, number(step), accumulators, body);
  env = std::move(saved);
  return Values(loop.getResults());
}

ThreadEmitter::Values ThreadEmitter::overUnits(Values accumulators, Leaf leaf) {
  int64_t step = plan.team * plan.slots;
  if (plan.splits > 1) {
    Value end = arith::AddIOp::create(b, loc, begin, number(plan.chunk));
    return unitLoop(begin, end, plan.units % plan.chunk != 0, std::move(accumulators), leaf);
  }
  int64_t whole = plan.units / step * step, rest = plan.units - whole;
  if (whole)
    accumulators = unitLoop(number(0), number(whole), false, std::move(accumulators), leaf);
  if (rest) {
    auto saved = env;
    Value first = arith::AddIOp::create(b, loc, number(whole), rank);
    enterSlots(first, llvm::divideCeil(rest, plan.team), rest);
    accumulators = leaf(std::move(accumulators));
    leaveSlots();
    env = std::move(saved);
  }
  return accumulators;
}
