#include "passes/Lower/Gpu/TeamFolds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

Value kedge::lower::gpu::foldTree(ScalarOps &ops, sched::FoldKind kind, BodyWalk::Values values) {
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  return values[0];
}

void TeamFolds::begin(unsigned pass) {
  folds.clear();
  onlineSums.clear();
  scalars.wanted.clear();
  llvm::DenseSet<Operation *> paired;
  auto all = nest.body().getOps<sched::ReduceOp>();
  for (auto fold : all)
    if (sched::ReduceOp maximum = nest.maximumOf.lookup(fold); maximum && nest.passOf(fold) == pass) {
      onlineSums.push_back(fold);
      paired.insert(maximum);
      scalars.want(maximum.getInput());
    }
  for (auto fold : all)
    if (nest.passOf(fold) == pass && !nest.maximumOf.contains(fold) && !paired.contains(fold)) {
      folds.push_back(fold);
      scalars.want(fold.getInput());
    }
}

TeamFolds::Values TeamFolds::identities() {
  Values all;
  for (sched::ReduceOp fold : folds)
    all.append(plan.slots, ops.identity(fold.getKind(), fold.getType(), lanesOfFold(fold)));
  for (sched::ReduceOp sum : onlineSums) {
    sched::ReduceOp maximum = nest.maximumOf.lookup(sum);
    unsigned width = lanesOfFold(maximum);
    all.push_back(ops.identity(maximum.getKind(), maximum.getType(), plan.lanesReduced ? 1 : width));
    all.append(plan.slots, ops.identity(sum.getKind(), sum.getType(), width));
  }
  return all;
}

TeamFolds::Values TeamFolds::accumulate(Values accumulators) {
  for (auto [number, fold] : llvm::enumerate(folds))
    for (unsigned slot = 0; slot < place.slots.size(); ++slot) {
      Value &accumulator = accumulators[number * plan.slots + slot];
      accumulator = ops.combine(fold.getKind(), accumulator, foldedOfSlot(fold, slot));
    }
  MutableArrayRef<Value> pairs = MutableArrayRef(accumulators).drop_front(folds.size() * plan.slots);
  for (auto [number, sum] : llvm::enumerate(onlineSums)) {
    MutableArrayRef<Value> pair = pairs.slice(number * (plan.slots + 1), plan.slots + 1);
    accumulatePair(sum, pair.front(), pair.drop_front());
  }
  return accumulators;
}

void TeamFolds::finishInRegisters() {
  Values joined;
  for (sched::ReduceOp fold : folds) {
    Values list;
    for (unsigned slot = 0; slot < place.slots.size(); ++slot)
      list.push_back(foldedOfSlot(fold, slot));
    joined.push_back(ofThread(fold, list));
  }
  joinTeam(folds, joined);
  for (auto [fold, value] : llvm::zip(folds, joined))
    scalars.known[fold.getResult()] = {value};
}

void TeamFolds::finish(ArrayRef<Value> accumulators) {
  auto take = [&](size_t count) {
    Values taken(accumulators.take_front(count));
    accumulators = accumulators.drop_front(count);
    return taken;
  };
  Values joined, maxima, sums;
  for (sched::ReduceOp fold : folds)
    joined.push_back(ofThread(fold, take(plan.slots)));
  for (sched::ReduceOp sum : onlineSums) {
    maxima.push_back(take(1).front());
    sums.push_back(ofThread(sum, take(plan.slots)));
  }
  for (auto [sum, maximum] : llvm::zip(onlineSums, maxima)) {
    folds.push_back(nest.maximumOf.lookup(sum));
    joined.push_back(maximum);
  }
  joinTeam(folds, joined);
  for (auto [fold, value] : llvm::zip(folds, joined))
    scalars.known[fold.getResult()] = {value};
  if (!onlineSums.empty())
    joinPairs(maxima, sums);
}

unsigned TeamFolds::lanesOfFold(sched::ReduceOp fold) const {
  return plan.lanesReduced ? plan.width : place.lanesOf(fold.getInput());
}

Value TeamFolds::foldedOfSlot(sched::ReduceOp fold, unsigned slot) {
  unsigned width = lanesOfFold(fold);
  Value value = ops.splat(scalars.at(fold.getInput(), slot), width);
  if (!place.slots[slot].valid)
    return value;
  return arith::SelectOp::create(b, loc, place.slots[slot].valid, value,
                                 ops.identity(fold.getKind(), fold.getType(), width));
}

Value TeamFolds::horizontal(sched::FoldKind kind, Value vector) {
  Values values;
  for (unsigned lane = 0; lane < widthOf(vector); ++lane)
    values.push_back(plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, loc, vector, lane)));
  return tree(kind, values);
}

// One result of all that the thread folded; of nothing the identity.
Value TeamFolds::ofThread(sched::ReduceOp fold, Values values) {
  if (values.empty())
    values.push_back(ops.identity(fold.getKind(), fold.getType(), lanesOfFold(fold)));
  Value value = tree(fold.getKind(), values);
  return plan.lanesReduced ? horizontal(fold.getKind(), value) : value;
}

// Words of 32 bits travel; narrower values in one, wider ones in two.
Value TeamFolds::shuffle(Value value, unsigned distance) {
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
Value TeamFolds::joinLanes(sched::FoldKind kind, Value value, unsigned threads) {
  for (unsigned distance = threads / 2; distance >= 1; distance /= 2)
    value = ops.combine(kind, value, shuffle(value, distance));
  return value;
}

void TeamFolds::joinTeam(Folds joined, Values &results) {
  if (plan.team == 1)
    return;
  if (!plan.lanesReduced)
    return joinRows(joined, results);
  for (auto [fold, value] : llvm::zip(joined, results))
    value = joinLanes(sched::ReduceOp(fold).getKind(), value, std::min<int64_t>(plan.team, 32));
  if (plan.team > 32)
    joinWarps(joined, results);
}

// Each warp leaves its result in shared memory; then a butterfly over as many lanes as the team has warps.
void TeamFolds::joinWarps(Folds joined, Values &results) {
  unsigned warps = plan.team / 32, all = plan.blockSize() / 32;
  Value thread = place.threadId(mlir::gpu::Dimension::x);
  Value warp = arith::DivUIOp::create(b, loc, thread, number(32));
  Value lane = arith::RemUIOp::create(b, loc, thread, number(32));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, number(0));
  Value at = arith::RemUIOp::create(b, loc, lane, number(warps));
  at = arith::AddIOp::create(b, loc, at, arith::MulIOp::create(b, loc, place.team, number(warps)));
  Values bases;
  for (Value value : results)
    bases.push_back(sharedMemory(b, kernel, all * gpuMemory(ops, value.getType()).bytes()));
  place.guarded(isFirst, [&] {
    for (auto [base, value] : llvm::zip(bases, results)) {
      ElementMemory memory = gpuMemory(ops, value.getType());
      memory.store(memory.address(base, warp), value);
    }
  });
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [fold, base, value] : llvm::zip(joined, bases, results)) {
    ElementMemory memory = gpuMemory(ops, value.getType());
    value = joinLanes(sched::ReduceOp(fold).getKind(), memory.load(memory.address(base, at)), warps);
  }
}

// The threads above each other fold the same columns: every one reads all their results.
void TeamFolds::joinRows(Folds joined, Values &results) {
  Value mine = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, place.rank, number(plan.groupsPerBlock)), place.column);
  Values bases;
  for (Value value : results) {
    ElementMemory memory = gpuMemory(ops, getElementTypeOrSelf(value.getType()));
    bases.push_back(sharedMemory(b, kernel, plan.blockSize() * memory.bytes() * widthOf(value)));
    memory.store(memory.address(bases.back(), mine, widthOf(value)), value);
  }
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [fold, base, value] : llvm::zip(joined, bases, results)) {
    ElementMemory memory = gpuMemory(ops, getElementTypeOrSelf(value.getType()));
    Values parts;
    for (int64_t row = 0; row < plan.team; ++row) {
      Value at = arith::AddIOp::create(b, loc, place.column, number(row * plan.groupsPerBlock));
      parts.push_back(memory.load(memory.address(base, at, widthOf(value)), widthOf(value)));
    }
    value = tree(sched::ReduceOp(fold).getKind(), parts);
  }
}

//===- Maxima with the sums beside them -----------------------------------------------------------------===//

// One maximum for all that a thread holds, so that a step costs one exponential beside those of its elements.
void TeamFolds::accumulatePair(sched::ReduceOp sum, Value &maximum, MutableArrayRef<Value> sums) {
  OnlineSum online(ops, sum);
  sched::ReduceOp fold = nest.maximumOf.lookup(sum);
  Values elements;
  for (unsigned slot = 0; slot < place.slots.size(); ++slot)
    elements.push_back(foldedOfSlot(fold, slot));
  Value top = ops.combine(fold.getKind(), maximum, ofThread(fold, elements));
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
void TeamFolds::joinPairs(ArrayRef<Value> maxima, Values results) {
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
