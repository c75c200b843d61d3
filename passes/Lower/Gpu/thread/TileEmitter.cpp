#include "passes/Lower/Gpu/thread/TileEmitter.h"
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

// Elements are turned around as they lie in memory.
ElementMemory TileEmitter::storedMemory(const Access &access) {
  return gpuMemory(ops, gpuMemory(ops, access.element).storedType());
}

Value TileEmitter::rowOf(int64_t slot) {
  return arith::AddIOp::create(b, loc, tileRow, number(slot * GpuPlan::kTileRows));
}

// Threads of a warp read along the tile dim, where the input is contiguous, and later along the lanes.
void TileEmitter::loadTile(unsigned input) {
  ElementMemory stored = storedMemory(nest.inputs[input]);
  Value shared = sharedMemory(b, kernel, GpuPlan::kTile * kPitch * stored.bytes());
  auto clamped = [&](Value index, unsigned dim) -> Value {
    return arith::MinUIOp::create(b, loc, index, number(nest.sizes[dim] - 1));
  };
  Values indices = position.groupIndices;
  Value column = position.column;
  indices[*plan.tileDim] = clamped(arith::AddIOp::create(b, loc, tileFirst, column), *plan.tileDim);
  for (int64_t slot = 0; slot < kRows; ++slot) {
    Value row = rowOf(slot);
    indices[plan.lanesDim] =
        clamped(arith::AddIOp::create(b, loc, position.groupIndices[plan.lanesDim], row), plan.lanesDim);
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

ThreadPosition::Slot TileEmitter::slotAt(Value along, Value across) {
  ThreadPosition::Slot slot;
  slot.indices = position.groupIndices;
  slot.indices[plan.lanesDim] = arith::AddIOp::create(b, loc, position.groupIndices[plan.lanesDim], along);
  slot.indices[*plan.tileDim] = arith::AddIOp::create(b, loc, tileFirst, across);
  for (unsigned dim : {plan.lanesDim, *plan.tileDim}) {
    if (nest.sizes[dim] % GpuPlan::kTile == 0)
      continue;
    Value &index = slot.indices[dim], size = position.number(nest.sizes[dim]);
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
    slot.valid = position.both(slot.valid, inside);
    index = arith::MinUIOp::create(b, loc, index, position.number(nest.sizes[dim] - 1));
  }
  return slot;
}

void TileEmitter::enterSlots() {
  position.inUnits = true;
  for (int64_t number = 0; number < kRows; ++number)
    position.slots.push_back(slotAt(position.column, rowOf(number)));
}

void TileEmitter::storePoints() {
  for (unsigned slot = 0; slot < position.slots.size(); ++slot)
    position.guarded(position.slots[slot].valid, [&] {
      for (unsigned output = 0; output < nest.outputs.size(); ++output)
        if (!plan.isTransposed(nest.outputs[output]))
          memory.store(output, slot, scalars.at(nest.yield().getOperand(output), slot));
    });
}

// Elements of a row lie in one bank's neighbours, those of a column kPitch apart; threads then write along
// the tile dim.
void TileEmitter::storeTiles() {
  SmallVector<std::pair<unsigned, Value>> transposed;
  for (auto [output, access] : llvm::enumerate(nest.outputs)) {
    if (!plan.isTransposed(access))
      continue;
    ElementMemory element = gpuMemory(ops, access.element);
    Value shared = sharedMemory(b, kernel, GpuPlan::kTile * kPitch * element.bytes());
    Value mine = arith::MulIOp::create(b, loc, position.column, number(kPitch));
    for (int64_t slot = 0; slot < kRows; ++slot)
      element.store(element.address(shared, arith::AddIOp::create(b, loc, mine, rowOf(slot))),
                    scalars.at(nest.yield().getOperand(output), slot));
    transposed.push_back({output, shared});
  }
  if (transposed.empty())
    return;
  mlir::gpu::BarrierOp::create(b, loc);
  for (int64_t number = 0; number < kRows; ++number) {
    Value row = rowOf(number);
    ThreadPosition::Slot slot = slotAt(row, position.column);
    Value from = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, row, position.number(kPitch)),
                                       position.column);
    position.guarded(slot.valid, [&] {
      for (auto [output, shared] : transposed) {
        ElementMemory stored = storedMemory(nest.outputs[output]);
        stored.store(memory.outputAddress(output, slot.indices), stored.load(stored.address(shared, from)));
      }
    });
  }
}

void TileEmitter::emit() {
  position.enterTile();
  tileFirst = position.groupIndices[*plan.tileDim];
  position.column = position.threadId(mlir::gpu::Dimension::x);
  tileRow = position.threadId(mlir::gpu::Dimension::y);
  SmallVector<unsigned> transposed;
  for (auto [number, input] : llvm::enumerate(nest.inputs))
    if (plan.isTransposed(input)) {
      transposed.push_back(number);
      loadTile(number);
    }
  if (!transposed.empty())
    mlir::gpu::BarrierOp::create(b, loc);
  enterSlots();
  for (unsigned input : transposed)
    for (Value &value : scalars.known[nest.body().getArgument(input)])
      value = gpuMemory(ops, nest.inputs[input].element).load(value);
  scalars.wantAll();
  scalars.emitAvailable();
  storePoints();
  storeTiles();
}
