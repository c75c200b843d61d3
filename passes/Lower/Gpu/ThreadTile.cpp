// Inputs that lie across the lanes, turned around in shared memory.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/ThreadEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {
/// Elements from one row of a tile in shared memory to the next: odd, so that a column lies in all banks.
constexpr int64_t kPitch = GpuPlan::kTile + 1;
constexpr int64_t kRows = GpuPlan::kTile / GpuPlan::kTileRows;
} // namespace

// The block's tile: other dims, then the tile's place along the tile dim and along the lanes.
void ThreadEmitter::enterTile() {
  Value position = blockId(mlir::gpu::Dimension::x);
  auto next = [&](int64_t size) {
    Value index = arith::RemUIOp::create(b, loc, position, number(size));
    position = arith::DivUIOp::create(b, loc, position, number(size));
    return index;
  };
  auto first = [&](unsigned dim) -> Value {
    return arith::MulIOp::create(b, loc, next(plan.tilesOf(nest.sizes[dim])), number(GpuPlan::kTile));
  };
  groupIndices[plan.lanesDim] = first(plan.lanesDim);
  tileFirst = first(*plan.tileDim);
  for (unsigned d : llvm::reverse(plan.parallel))
    if (d != plan.lanesDim && d != *plan.tileDim)
      groupIndices[d] = next(nest.sizes[d]);
  column = threadId(mlir::gpu::Dimension::x);
  tileRow = threadId(mlir::gpu::Dimension::y);
}

// Threads of a warp read along the tile dim, where the input is contiguous, and later along the lanes.
void ThreadEmitter::loadTile(unsigned input) {
  const Access &access = nest.inputs[input];
  Type type = memoryType(access.element);
  int64_t bytes = std::max(1u, type.getIntOrFloatBitWidth() / 8);
  Value shared = sharedMemory(b, kernel, GpuPlan::kTile * kPitch * bytes);
  auto clamped = [&](Value index, unsigned dim) -> Value {
    return arith::MinUIOp::create(b, loc, index, number(nest.sizes[dim] - 1));
  };
  Values indices = groupIndices;
  indices[*plan.tileDim] = clamped(arith::AddIOp::create(b, loc, tileFirst, column), *plan.tileDim);
  for (int64_t at = 0; at < kRows; ++at) {
    Value row = arith::AddIOp::create(b, loc, tileRow, number(at * GpuPlan::kTileRows));
    indices[plan.lanesDim] = clamped(arith::AddIOp::create(b, loc, groupIndices[plan.lanesDim], row), plan.lanesDim);
    Value from = address(kernel.getArgument(input), access, offset(access, indices, 0));
    Value value = LLVM::LoadOp::create(b, loc, type, from, alignmentOf(access, 1));
    Value place = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, row, number(kPitch)), column);
    LLVM::StoreOp::create(b, loc, value, sharedAddress(shared, place, type));
  }
  // Where the slots of this thread will find their elements.
  Values &places = env[nest.body().getArgument(input)];
  Value mine = arith::MulIOp::create(b, loc, column, number(kPitch));
  for (int64_t at = 0; at < kRows; ++at) {
    Value row = arith::AddIOp::create(b, loc, tileRow, number(at * GpuPlan::kTileRows));
    places.push_back(sharedAddress(shared, arith::AddIOp::create(b, loc, mine, row), type));
  }
}

void ThreadEmitter::tileGroup() {
  enterTile();
  SmallVector<unsigned> turned;
  for (auto [number, input] : llvm::enumerate(nest.inputs))
    if (plan.isTransposed(input)) {
      turned.push_back(number);
      loadTile(number);
    }
  mlir::gpu::BarrierOp::create(b, loc);
  inUnits = true;
  groupIndices[plan.lanesDim] = arith::AddIOp::create(b, loc, groupIndices[plan.lanesDim], column);
  for (int64_t at = 0; at < kRows; ++at) {
    Slot slot;
    slot.indices = groupIndices;
    Value row = arith::AddIOp::create(b, loc, tileRow, number(at * GpuPlan::kTileRows));
    slot.indices[*plan.tileDim] = arith::AddIOp::create(b, loc, tileFirst, row);
    for (unsigned dim : {plan.lanesDim, *plan.tileDim}) {
      if (nest.sizes[dim] % GpuPlan::kTile == 0)
        continue;
      Value &index = slot.indices[dim];
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, number(nest.sizes[dim]));
      slot.valid = both(slot.valid, inside);
      index = arith::MinUIOp::create(b, loc, index, number(nest.sizes[dim] - 1));
    }
    slots.push_back(std::move(slot));
  }
  for (unsigned input : turned)
    for (Value &value : env[nest.body().getArgument(input)]) {
      Type element = nest.inputs[input].element;
      value = fromMemory(LLVM::LoadOp::create(b, loc, memoryType(element), value), element);
    }
  for (Value output : nest.yield().getOperands())
    want(output);
  emitAvailable();
  for (unsigned slot = 0; slot < slots.size(); ++slot)
    guarded(slots[slot].valid, [&] {
      for (unsigned output = 0; output < nest.outputs.size(); ++output)
        store(output, slot);
    });
}
