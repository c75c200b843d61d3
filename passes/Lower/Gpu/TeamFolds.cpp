// Folds: what a thread folds by itself, and how the threads of a team join their results.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/ThreadEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

unsigned ThreadEmitter::lanesOfFold(sched::ReduceOp fold) const {
  return plan.lanesReduced ? plan.width : widthOf(fold.getInput());
}

Value ThreadEmitter::foldedOfSlot(sched::ReduceOp fold, unsigned slot) {
  unsigned width = lanesOfFold(fold);
  Value value = ops.splat(at(fold.getInput(), slot), width);
  if (!slots[slot].valid)
    return value;
  return arith::SelectOp::create(b, loc, slots[slot].valid, value,
                                 ops.identity(fold.getKind(), fold.getType(), width));
}

// Halves the list until one is left: the order depends on its length only.
Value ThreadEmitter::tree(sched::FoldKind kind, Values values) {
  for (size_t half = llvm::PowerOf2Ceil(values.size()) / 2; half >= 1; half /= 2) {
    for (size_t at = half; at < values.size(); ++at)
      values[at - half] = ops.combine(kind, values[at - half], values[at]);
    values.resize(std::min(values.size(), half));
  }
  return values[0];
}

Value ThreadEmitter::horizontal(sched::FoldKind kind, Value vector) {
  Values values;
  for (unsigned lane = 0; lane < kedge::lower::widthOf(vector); ++lane)
    values.push_back(plan.width == 1 ? vector : Value(vector::ExtractOp::create(b, loc, vector, lane)));
  return tree(kind, values);
}

// One result of all that the thread folded; of nothing the identity.
Value ThreadEmitter::ofThread(sched::ReduceOp fold, Values values) {
  if (values.empty())
    values.push_back(ops.identity(fold.getKind(), fold.getType(), lanesOfFold(fold)));
  Value value = tree(fold.getKind(), values);
  return plan.lanesReduced ? horizontal(fold.getKind(), value) : value;
}

// Words of 32 bits travel; narrower values in one, wider ones in two.
Value ThreadEmitter::shuffle(Value value, unsigned distance) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto move = [&](Value v) -> Value {
    return mlir::gpu::ShuffleOp::create(b, loc, v, distance, 32, mlir::gpu::ShuffleMode::XOR).getShuffleResult();
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
Value ThreadEmitter::joinLanes(sched::FoldKind kind, Value value, unsigned threads) {
  for (unsigned distance = threads / 2; distance >= 1; distance /= 2)
    value = ops.combine(kind, value, shuffle(value, distance));
  return value;
}

void ThreadEmitter::joinTeam(Values &results) {
  if (plan.team == 1)
    return;
  if (!plan.lanesReduced)
    return joinRows(results);
  for (auto [fold, value] : llvm::zip(folds, results))
    value = joinLanes(fold.getKind(), value, std::min<int64_t>(plan.team, 32));
  if (plan.team > 32)
    joinWarps(results);
}

Value ThreadEmitter::sharedAddress(Value base, Value position, Type type) {
  auto pointer = cast<LLVM::LLVMPointerType>(base.getType());
  return LLVM::GEPOp::create(b, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{position},
                             LLVM::GEPNoWrapFlags::inbounds);
}

// Each warp leaves its result in shared memory; then a butterfly over as many lanes as the team has warps.
void ThreadEmitter::joinWarps(Values &results) {
  unsigned warps = plan.team / 32, all = plan.blockSize() / 32;
  Value thread = threadId(mlir::gpu::Dimension::x);
  Value warp = arith::DivUIOp::create(b, loc, thread, number(32));
  Value lane = arith::RemUIOp::create(b, loc, thread, number(32));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, number(0));
  Value place = arith::RemUIOp::create(b, loc, lane, number(warps));
  place = arith::AddIOp::create(b, loc, place, arith::MulIOp::create(b, loc, team, number(warps)));
  Values bases;
  for (Value value : results) {
    unsigned bits = memoryType(value.getType()).getIntOrFloatBitWidth();
    bases.push_back(sharedMemory(b, kernel, all * std::max(1u, bits / 8)));
  }
  guarded(isFirst, [&] {
    for (auto [base, value] : llvm::zip(bases, results)) {
      Type type = memoryType(value.getType());
      LLVM::StoreOp::create(b, loc, toMemory(value, value.getType()), sharedAddress(base, warp, type));
    }
  });
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [fold, base, value] : llvm::zip(folds, bases, results)) {
    Type type = memoryType(value.getType());
    Value partial = LLVM::LoadOp::create(b, loc, type, sharedAddress(base, place, type));
    value = joinLanes(fold.getKind(), fromMemory(partial, value.getType()), warps);
  }
}

// The threads above each other fold the same columns: every one reads all their results.
void ThreadEmitter::joinRows(Values &results) {
  Value mine = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, rank, number(plan.groupsPerBlock)), column);
  Values bases;
  for (Value value : results) {
    Type element = getElementTypeOrSelf(value.getType());
    unsigned lanes = kedge::lower::widthOf(value);
    Type type = lanesOf(memoryType(element), lanes);
    int64_t bytes = std::max(1u, memoryType(element).getIntOrFloatBitWidth() / 8) * lanes;
    bases.push_back(sharedMemory(b, kernel, plan.blockSize() * bytes));
    LLVM::StoreOp::create(b, loc, toMemory(value, element), sharedAddress(bases.back(), mine, type));
  }
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [fold, base, value] : llvm::zip(folds, bases, results)) {
    Type element = getElementTypeOrSelf(value.getType());
    Type type = lanesOf(memoryType(element), kedge::lower::widthOf(value));
    Values parts;
    for (int64_t row = 0; row < plan.team; ++row) {
      Value place = arith::AddIOp::create(b, loc, column, number(row * plan.groupsPerBlock));
      Value part = LLVM::LoadOp::create(b, loc, type, sharedAddress(base, place, type));
      parts.push_back(fromMemory(part, element));
    }
    value = tree(fold.getKind(), parts);
  }
}
