#include "passes/Lower/Gpu/TeamReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

Value kedge::lower::gpu::reduceTree(ScalarOps &ops, sched::ReductionKind kind, BodyWalk::Values values) {
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  return values[0];
}

void TeamReductions::begin(unsigned pass) {
  reductions.clear();
  onlineSums.clear();
  scalars.wanted.clear();
  llvm::DenseSet<Operation *> paired;
  auto all = nest.body().getOps<sched::ReduceOp>();
  for (auto reduction : all)
    if (sched::ReduceOp maximum = nest.maximumOf.lookup(reduction);
        maximum && nest.passOf(reduction) == pass) {
      onlineSums.push_back(reduction);
      paired.insert(maximum);
      scalars.want(maximum.getInput());
    }
  for (auto reduction : all)
    if (nest.passOf(reduction) == pass && !nest.maximumOf.contains(reduction) &&
        !paired.contains(reduction)) {
      reductions.push_back(reduction);
      scalars.want(reduction.getInput());
    }
}

TeamReductions::Values TeamReductions::identities() {
  Values all;
  for (sched::ReduceOp reduction : reductions)
    all.append(plan.slots,
               ops.identity(reduction.getKind(), reduction.getType(), lanesOfReduction(reduction)));
  for (sched::ReduceOp sum : onlineSums) {
    sched::ReduceOp maximum = nest.maximumOf.lookup(sum);
    unsigned width = lanesOfReduction(maximum);
    all.push_back(ops.identity(maximum.getKind(), maximum.getType(), plan.lanesReduced ? 1 : width));
    all.append(plan.slots, ops.identity(sum.getKind(), sum.getType(), width));
  }
  return all;
}

TeamReductions::Values TeamReductions::accumulate(Values accumulators) {
  for (auto [number, reduction] : llvm::enumerate(reductions))
    for (unsigned slot = 0; slot < position.slots.size(); ++slot) {
      Value &accumulator = accumulators[number * plan.slots + slot];
      accumulator = ops.combine(reduction.getKind(), accumulator, foldedOfSlot(reduction, slot));
    }
  MutableArrayRef<Value> pairs = MutableArrayRef(accumulators).drop_front(reductions.size() * plan.slots);
  for (auto [number, sum] : llvm::enumerate(onlineSums)) {
    MutableArrayRef<Value> pair = pairs.slice(number * (plan.slots + 1), plan.slots + 1);
    accumulatePair(sum, pair.front(), pair.drop_front());
  }
  return accumulators;
}

void TeamReductions::finishInRegisters() {
  Values joined;
  for (sched::ReduceOp reduction : reductions) {
    Values list;
    for (unsigned slot = 0; slot < position.slots.size(); ++slot)
      list.push_back(foldedOfSlot(reduction, slot));
    joined.push_back(ofThread(reduction, list));
  }
  joinTeam(reductions, joined);
  for (auto [reduction, value] : llvm::zip(reductions, joined))
    scalars.known[reduction.getResult()] = {value};
}

void TeamReductions::finish(ArrayRef<Value> accumulators) {
  auto take = [&](size_t count) {
    Values taken(accumulators.take_front(count));
    accumulators = accumulators.drop_front(count);
    return taken;
  };
  Values joined, maxima, sums;
  for (sched::ReduceOp reduction : reductions)
    joined.push_back(ofThread(reduction, take(plan.slots)));
  for (sched::ReduceOp sum : onlineSums) {
    maxima.push_back(take(1).front());
    sums.push_back(ofThread(sum, take(plan.slots)));
  }
  for (auto [sum, maximum] : llvm::zip(onlineSums, maxima)) {
    reductions.push_back(nest.maximumOf.lookup(sum));
    joined.push_back(maximum);
  }
  joinTeam(reductions, joined);
  for (auto [reduction, value] : llvm::zip(reductions, joined))
    scalars.known[reduction.getResult()] = {value};
  if (!onlineSums.empty())
    joinPairs(maxima, sums);
}

unsigned TeamReductions::lanesOfReduction(sched::ReduceOp reduction) const {
  return plan.lanesReduced ? plan.width : position.lanesOf(reduction.getInput());
}

Value TeamReductions::foldedOfSlot(sched::ReduceOp reduction, unsigned slot) {
  unsigned width = lanesOfReduction(reduction);
  Value value = ops.splat(scalars.at(reduction.getInput(), slot), width);
  const ThreadPosition::Slot &at = position.slots[slot];
  Value exists = at.lanes ? at.lanes : at.valid;
  if (!exists)
    return value;
  return arith::SelectOp::create(b, loc, exists, value,
                                 ops.identity(reduction.getKind(), reduction.getType(), width));
}

Value TeamReductions::horizontal(sched::ReductionKind kind, Value vector) {
  Values values;
  for (unsigned lane = 0; lane < widthOf(vector); ++lane)
    values.push_back(plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, loc, vector, lane)));
  return tree(kind, values);
}

// One result of all that the thread reduced; of nothing the identity.
Value TeamReductions::ofThread(sched::ReduceOp reduction, Values values) {
  if (values.empty())
    values.push_back(ops.identity(reduction.getKind(), reduction.getType(), lanesOfReduction(reduction)));
  Value value = tree(reduction.getKind(), values);
  return plan.lanesReduced ? horizontal(reduction.getKind(), value) : value;
}

// Words of 32 bits travel; narrower values in one, wider ones in two.
Value TeamReductions::shuffle(Value value, unsigned distance) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto move = [&](Value v) -> Value {
    return mlir::gpu::ShuffleOp::create(b, loc, v, distance, 32, mlir::gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  if (type.isF32() || type.isInteger(32))
    return move(value);
  Type whole = b.getIntegerType(bits);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(b, loc, whole, value);
  if (bits < 32) {
    value = arith::TruncIOp::create(b, loc, whole, move(arith::ExtUIOp::create(b, loc, word, value)));
  } else {
    Value shift = ops.intConstant(64, 32, 1);
    Value high = move(arith::TruncIOp::create(b, loc, word, arith::ShRUIOp::create(b, loc, value, shift)));
    Value low = move(arith::TruncIOp::create(b, loc, word, value));
    high = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, whole, high), shift);
    value = arith::OrIOp::create(b, loc, high, arith::ExtUIOp::create(b, loc, whole, low));
  }
  return isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, loc, type, value)) : value;
}

// A butterfly: every lane ends with the same bits, for a op b is b op a.
Value TeamReductions::joinLanes(sched::ReductionKind kind, Value value, unsigned threads) {
  for (unsigned distance = threads / 2; distance >= 1; distance /= 2)
    value = ops.combine(kind, value, shuffle(value, distance));
  return value;
}

void TeamReductions::joinTeam(Reductions joined, Values &results) {
  if (plan.team == 1)
    return;
  if (!plan.lanesReduced)
    return joinRows(joined, results);
  for (auto [reduction, value] : llvm::zip(joined, results))
    value = joinLanes(sched::ReduceOp(reduction).getKind(), value, std::min<int64_t>(plan.team, 32));
  if (plan.team > 32)
    joinWarps(joined, results);
}

// Each warp leaves its result in shared memory; then a butterfly over as many lanes as the team has warps.
void TeamReductions::joinWarps(Reductions joined, Values &results) {
  unsigned warps = plan.team / 32, all = plan.blockSize() / 32;
  Value thread = position.threadId(mlir::gpu::Dimension::x);
  Value warp = arith::DivUIOp::create(b, loc, thread, number(32));
  Value lane = arith::RemUIOp::create(b, loc, thread, number(32));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, number(0));
  Value at = arith::RemUIOp::create(b, loc, lane, number(warps));
  at = arith::AddIOp::create(b, loc, at, arith::MulIOp::create(b, loc, position.team, number(warps)));
  Values bases;
  for (Value value : results)
    bases.push_back(sharedMemory(b, kernel, all * gpuMemory(ops, value.getType()).bytes()));
  position.guarded(isFirst, [&] {
    for (auto [base, value] : llvm::zip(bases, results)) {
      ElementMemory memory = gpuMemory(ops, value.getType());
      memory.store(memory.address(base, warp), value);
    }
  });
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [reduction, base, value] : llvm::zip(joined, bases, results)) {
    ElementMemory memory = gpuMemory(ops, value.getType());
    value = joinLanes(sched::ReduceOp(reduction).getKind(), memory.load(memory.address(base, at)), warps);
  }
}

// The threads above each other reduce the same columns: every one reads all their results.
void TeamReductions::joinRows(Reductions joined, Values &results) {
  Value mine = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, position.rank, number(plan.groupsPerBlock)), position.column);
  Values bases;
  for (Value value : results) {
    ElementMemory memory = gpuMemory(ops, getElementTypeOrSelf(value.getType()));
    bases.push_back(sharedMemory(b, kernel, plan.blockSize() * memory.bytes() * widthOf(value)));
    memory.store(memory.address(bases.back(), mine, widthOf(value)), value);
  }
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [reduction, base, value] : llvm::zip(joined, bases, results)) {
    ElementMemory memory = gpuMemory(ops, getElementTypeOrSelf(value.getType()));
    Values parts;
    for (int64_t row = 0; row < plan.team; ++row) {
      Value at = arith::AddIOp::create(b, loc, position.column, number(row * plan.groupsPerBlock));
      parts.push_back(memory.load(memory.address(base, at, widthOf(value)), widthOf(value)));
    }
    value = tree(sched::ReduceOp(reduction).getKind(), parts);
  }
}

//===- Maxima with the sums beside them -----------------------------------------------------------------===//

// One maximum for all that a thread holds, so that a step costs one exponential beside those of its elements.
void TeamReductions::accumulatePair(sched::ReduceOp sum, Value &maximum, MutableArrayRef<Value> sums) {
  OnlineSum online(ops, sum);
  sched::ReduceOp reduction = nest.maximumOf.lookup(sum);
  Values elements;
  for (unsigned slot = 0; slot < position.slots.size(); ++slot)
    elements.push_back(foldedOfSlot(reduction, slot));
  Value top = ops.combine(reduction.getKind(), maximum, ofThread(reduction, elements));
  Value reference = online.reference(top), scale = online.term(maximum, reference);
  for (auto [slot, value] : llvm::enumerate(sums)) {
    Value scales = ops.splat(scale, widthOf(value));
    value = arith::MulFOp::create(b, loc, value, scales);
    if (slot < elements.size())
      value = ops.combine(sum.getKind(), value, online.term(elements[slot], reference));
  }
  maximum = top;
}

// The team's maxima are known: each thread's sum as seen from there, then a plain sum over the team.
void TeamReductions::joinPairs(ArrayRef<Value> maxima, Values results) {
  for (auto [sum, maximum, value] : llvm::zip(onlineSums, maxima, results)) {
    OnlineSum online(ops, sum);
    value = online.rescaled(value, maximum,
                            online.reference(scalars.at(nest.maximumOf.lookup(sum).getResult(), 0)));
  }
  joinTeam(onlineSums, results);
  for (auto [sum, value] : llvm::zip(onlineSums, results)) {
    Value maximum = scalars.at(nest.maximumOf.lookup(sum).getResult(), 0);
    // A part of a row may hold nothing but -inf: who joins the parts finishes their sum.
    scalars.known[sum.getResult()] = {plan.splits > 1 ? value : OnlineSum(ops, sum).finished(value, maximum)};
  }
}
