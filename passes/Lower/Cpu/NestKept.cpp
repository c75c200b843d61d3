#include "passes/Lower/Cpu/NestKept.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {
/// Elements of all that is kept of a row: 8 KiB, a quarter of the nearest cache.
constexpr int64_t kMostElements = 2048;
/// Operations that are not done again for a store and a load.
constexpr int64_t kWorthKeeping = 16;

/// Operations of a pass over `roots`: what reductions give is known before it.
llvm::SetVector<Operation *> operationsOf(ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> open(roots);
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp();
        op && !isa<sched::ReduceOp>(op) && found.insert(op))
      llvm::append_range(open, op->getOperands());
  return found;
}
} // namespace

void NestKept::choose() {
  const ClusterNest &nest = position.nest;
  const LoopPlan &plan = position.plan;
  if (!plan.lanesReduced || !plan.reduced.empty() || nest.passes == 0)
    return;
  SmallVector<Value> reduced, points;
  for (auto reduction : nest.body().getOps<sched::ReduceOp>())
    if (nest.passOf(reduction) + 1 == nest.passes)
      reduced.push_back(reduction.getInput());
  for (auto [result, output] : llvm::zip(nest.yield().getOperands(), nest.outputs))
    if (nest.isPoint(output))
      points.push_back(result);
  const auto before = operationsOf(reduced), after = operationsOf(points);
  const int64_t length = llvm::alignTo(nest.sizes[plan.lanesDim], plan.width);
  for (Operation &op : nest.body().without_terminator()) {
    const bool isLast =
        before.contains(&op) && after.contains(&op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
          return !before.contains(user) && (after.contains(user) || user == nest.yield());
        });
    if (!isLast || !op.getResult(0).getType().isF32() || !position.isInLanes(op.getResult(0)))
      continue;
    const auto cone = operationsOf({op.getResult(0)});
    const auto inLanes =
        llvm::count_if(cone, [&](Operation *each) { return position.isInLanes(each->getResult(0)); });
    if (inLanes < kWorthKeeping || length * static_cast<int64_t>(all.size() + 1) > kMostElements)
      continue;
    auto &b = ops.builder;
    Value room = LLVM::AllocaOp::create(b, ops.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                        b.getF32Type(), ops.intConstant(64, length, 1), /*alignment=*/64);
    all.push_back({op.getResult(0), room});
  }
}

void NestKept::want() {
  for (const Kept &kept : all)
    scalars.wanted.insert(kept.scalar);
}

ElementMemory NestKept::memory() const {
  return {ops, ops.builder.getF32Type(), ElementMemory::Vectors::AlignedAsElements};
}

Value NestKept::address(Value room, unsigned copy) const {
  Value element = position.step.base;
  if (copy)
    element = arith::AddIOp::create(ops.builder, ops.loc, element,
                                    ops.intConstant(64, int64_t(copy) * position.plan.width, 1));
  return memory().address(room, element);
}

void NestKept::keep() {
  for (const Kept &kept : all)
    for (unsigned copy = 0; copy < position.step.copies; ++copy)
      memory().store(address(kept.room, copy), scalars.at(kept.scalar, copy));
}

void NestKept::restore() {
  for (const Kept &kept : all) {
    BodyWalk::Values values;
    for (unsigned copy = 0; copy < position.step.copies; ++copy)
      values.push_back(memory().load(address(kept.room, copy), position.plan.width));
    scalars.known[kept.scalar] = std::move(values);
  }
}
