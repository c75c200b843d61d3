#include "passes/Lower/Gpu/TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {
/// Elements from one row of a tile in shared memory to the next: odd, so that a column lies in all banks.
constexpr int64_t kPitch = GpuPlan::kTile + 1;
constexpr int64_t kRows = GpuPlan::kTile / GpuPlan::kTileRows;
} // namespace

TileEmitter::TileEmitter(OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, const ClusterNest &nest, const GpuPlan &plan)
    : b(builder), kernel(kernel), loc(kernel.getLoc()), nest(nest), plan(plan), ops(builder, loc),
      place(ops, nest, plan), memory(ops, kernel, place), scalars(ops, place, memory) {}

// The block's tile: other dims, then the tile's place along the tile dim and along the lanes.
void TileEmitter::enterTile() {
  Value rest = place.blockId(mlir::gpu::Dimension::x);
  auto next = [&](int64_t size) {
    Value index = arith::RemUIOp::create(b, loc, rest, number(size));
    rest = arith::DivUIOp::create(b, loc, rest, number(size));
    return index;
  };
  auto first = [&](unsigned dim) -> Value {
    return arith::MulIOp::create(b, loc, next(plan.tilesOf(nest.sizes[dim])), number(GpuPlan::kTile));
  };
  place.groupIndices[plan.lanesDim] = first(plan.lanesDim);
  tileFirst = first(*plan.tileDim);
  for (unsigned d : llvm::reverse(plan.parallel))
    if (d != plan.lanesDim && d != *plan.tileDim)
      place.groupIndices[d] = next(nest.sizes[d]);
  place.column = place.threadId(mlir::gpu::Dimension::x);
  tileRow = place.threadId(mlir::gpu::Dimension::y);
}

Value TileEmitter::rowOf(int64_t slot) {
  return arith::AddIOp::create(b, loc, tileRow, number(slot * GpuPlan::kTileRows));
}

// Threads of a warp read along the tile dim, where the input is contiguous, and later along the lanes.
void TileEmitter::loadTile(unsigned input) {
  // Elements are turned around as they lie in memory.
  ElementMemory stored = gpuMemory(ops, gpuMemory(ops, nest.inputs[input].element).storedType());
  Value shared = sharedMemory(b, kernel, GpuPlan::kTile * kPitch * stored.bytes());
  auto clamped = [&](Value index, unsigned dim) -> Value {
    return arith::MinUIOp::create(b, loc, index, number(nest.sizes[dim] - 1));
  };
  Values indices = place.groupIndices;
  Value column = place.column;
  indices[*plan.tileDim] = clamped(arith::AddIOp::create(b, loc, tileFirst, column), *plan.tileDim);
  for (int64_t slot = 0; slot < kRows; ++slot) {
    Value row = rowOf(slot);
    indices[plan.lanesDim] =
        clamped(arith::AddIOp::create(b, loc, place.groupIndices[plan.lanesDim], row), plan.lanesDim);
    Value value = stored.load(memory.inputAddress(input, indices));
    Value to = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, row, number(kPitch)), column);
    stored.store(stored.address(shared, to), value);
  }
  // Where the slots of this thread will find their elements.
  Values &places = scalars.known[nest.body().getArgument(input)];
  Value mine = arith::MulIOp::create(b, loc, column, number(kPitch));
  for (int64_t slot = 0; slot < kRows; ++slot) {
    Value row = rowOf(slot);
    places.push_back(stored.address(shared, arith::AddIOp::create(b, loc, mine, row)));
  }
}

void TileEmitter::enterSlots() {
  place.inUnits = true;
  Values &group = place.groupIndices;
  group[plan.lanesDim] = arith::AddIOp::create(b, loc, group[plan.lanesDim], place.column);
  for (int64_t number = 0; number < kRows; ++number) {
    ThreadPlace::Slot slot;
    slot.indices = group;
    Value row = rowOf(number);
    slot.indices[*plan.tileDim] = arith::AddIOp::create(b, loc, tileFirst, row);
    for (unsigned dim : {plan.lanesDim, *plan.tileDim}) {
      if (nest.sizes[dim] % GpuPlan::kTile == 0)
        continue;
      Value &index = slot.indices[dim], size = place.number(nest.sizes[dim]);
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
      slot.valid = place.both(slot.valid, inside);
      index = arith::MinUIOp::create(b, loc, index, place.number(nest.sizes[dim] - 1));
    }
    place.slots.push_back(std::move(slot));
  }
}

void TileEmitter::emit() {
  enterTile();
  SmallVector<unsigned> turned;
  for (auto [number, input] : llvm::enumerate(nest.inputs))
    if (plan.isTransposed(input)) {
      turned.push_back(number);
      loadTile(number);
    }
  mlir::gpu::BarrierOp::create(b, loc);
  enterSlots();
  for (unsigned input : turned)
    for (Value &value : scalars.known[nest.body().getArgument(input)])
      value = gpuMemory(ops, nest.inputs[input].element).load(value);
  scalars.wantAll();
  scalars.emitAvailable();
  for (unsigned slot = 0; slot < place.slots.size(); ++slot)
    place.guarded(place.slots[slot].valid, [&] {
      for (unsigned output = 0; output < nest.outputs.size(); ++output)
        memory.store(output, slot, scalars.at(nest.yield().getOperand(output), slot));
    });
}
