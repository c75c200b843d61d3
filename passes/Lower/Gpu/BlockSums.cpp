#include "passes/Lower/Gpu/BlockSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/TeamReductions.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

BlockSums::BlockSums(ScalarOps &ops, mlir::gpu::GPUFuncOp kernel, ThreadPosition &position,
                     ThreadMemory &memory, ThreadScalars &scalars)
    : ops(ops), b(ops.builder), loc(ops.loc), kernel(kernel), position(position), plan(position.plan),
      memory(memory), scalars(scalars) {
  for (unsigned output = 0; output < position.nest.outputs.size(); ++output)
    if (sumOf(output))
      outputs.push_back(output);
}

void BlockSums::want() {
  for (unsigned output : outputs)
    scalars.want(sumOf(output).getInput());
}

BlockSums::Values BlockSums::identities() {
  Values all;
  for (unsigned output : outputs)
    all.append(plan.slots, ops.identity(sched::ReductionKind::Add, sumOf(output).getType(), plan.width));
  return all;
}

// Units beyond the last one hold numbers of the last one: they are added up and never stored.
BlockSums::Values BlockSums::add(Values sums) {
  for (auto [number, output] : llvm::enumerate(outputs))
    for (unsigned slot = 0; slot < position.slots.size(); ++slot) {
      Value &sum = sums[number * plan.slots + slot];
      sum = ops.combine(sched::ReductionKind::Add, sum,
                        ops.splat(scalars.at(sumOf(output).getInput(), slot), plan.width));
    }
  return sums;
}

void BlockSums::store(ArrayRef<Value> sums) {
  Value lines;
  for (auto [number, output] : llvm::enumerate(outputs)) {
    ArrayRef<Value> own = sums.slice(number * plan.slots, plan.slots);
    if (plan.groupsPerBlock == 1) {
      storeOfTeam(output, own);
      continue;
    }
    if (lines)
      mlir::gpu::BarrierOp::create(b, loc); // the sums before are read
    else
      lines = sharedMemory(b, kernel, sharedBytesOfSums(position.nest, plan));
    storeOfBlock(output, own, lines);
  }
}

void BlockSums::storeOfTeam(unsigned output, ArrayRef<Value> sums) {
  position.enterSlots(position.rank, plan.slots, plan.units);
  for (auto [slot, sum] : llvm::enumerate(sums))
    position.guarded(position.slots[slot].valid, [&] { memory.store(output, slot, sum); });
  position.leaveSlots();
}

Value BlockSums::lineAddress(sched::SumOp sum, Value lines, Value team, Value unit) {
  Value at =
      arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, team, position.number(plan.units)), unit);
  return gpuMemory(ops, sum.getType()).address(lines, at, plan.width);
}

// Every team leaves its line in shared memory; then each thread of the block joins other columns.
void BlockSums::storeOfBlock(unsigned output, ArrayRef<Value> sums, Value lines) {
  sched::SumOp sum = sumOf(output);
  ElementMemory shared = gpuMemory(ops, sum.getType());
  position.enterSlots(position.rank, plan.slots, plan.units);
  for (auto [slot, value] : llvm::zip(position.slots, sums))
    position.guarded(slot.valid,
                     [&] { shared.store(lineAddress(sum, lines, position.team, slot.unit), value); });
  position.leaveSlots();
  mlir::gpu::BarrierOp::create(b, loc);
  position.enterSlots(position.threadId(mlir::gpu::Dimension::x),
                      llvm::divideCeil(plan.units, plan.blockSize()), plan.units, plan.blockSize());
  for (unsigned slot = 0; slot < position.slots.size(); ++slot)
    position.guarded(position.slots[slot].valid, [&] {
      Values parts;
      for (int64_t team = 0; team < plan.groupsPerBlock; ++team)
        parts.push_back(shared.load(lineAddress(sum, lines, position.number(team), position.slots[slot].unit),
                                    plan.width));
      memory.store(output, slot, reduceTree(ops, sched::ReductionKind::Add, parts));
    });
  position.leaveSlots();
}
