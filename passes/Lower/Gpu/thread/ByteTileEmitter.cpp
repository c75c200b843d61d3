#include "passes/Lower/Gpu/thread/ByteTileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;
using mlir::gpu::Dimension;

namespace {
constexpr int64_t kPatch = GpuPlan::kPatch;
/// Words of a column of the tile in shared memory: odd, so that columns begin in different banks.
constexpr int64_t kPitch = GpuPlan::kByteTile / kPatch + 1;
/// Rows of a column that are stored at once.
constexpr int64_t kRun = GpuPlan::kByteRun;
} // namespace

Value ByteTileEmitter::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value ByteTileEmitter::times(Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, number(y)); }

Value ByteTileEmitter::exists(Value index, unsigned dim) {
  if (nest.sizes[dim] % plan.tile() == 0)
    return {};
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, number(nest.sizes[dim]));
}

// Both sizes are multiples of a patch, so that each patch is whole or beyond the end.
void ByteTileEmitter::enterPatch() {
  Value lane = add(first[plan.lanesDim], across), row = add(first[*plan.tileDim], along);
  valid = position.both(exists(lane, plan.lanesDim), exists(row, *plan.tileDim));
  auto inside = [&](Value index, unsigned dim) -> Value {
    return exists(index, dim) ? Value(arith::MinUIOp::create(b, loc, index, number(nest.sizes[dim] - kPatch)))
                              : index;
  };
  lane = inside(lane, plan.lanesDim);
  row = inside(row, *plan.tileDim);
  position.groupIndices[plan.lanesDim] = lane;
  scalars.wantAll();
  scalars.emitAvailable(); // what belongs to the lanes alone is read once
  position.inUnits = true;
  for (int64_t at = 0; at < kPatch; ++at) {
    ThreadPosition::Slot slot;
    slot.indices = position.groupIndices;
    slot.indices[*plan.tileDim] = add(row, number(at));
    position.slots.push_back(std::move(slot));
  }
  scalars.emitAvailable();
}

void ByteTileEmitter::storeRows() {
  position.guarded(valid, [&] {
    for (unsigned slot = 0; slot < kPatch; ++slot)
      for (auto [output, access] : llvm::enumerate(nest.outputs))
        if (!plan.isTransposed(access))
          memory.store(output, slot, scalars.at(nest.yield().getOperand(output), slot));
  });
}

// Four columns of four rows, from four rows of four columns: twice the halves of two.
ByteTileEmitter::Values ByteTileEmitter::turned(Values rows) {
  auto shuffle = [&](Value low, Value high, ArrayRef<int64_t> lanes) {
    return vector::ShuffleOp::create(b, loc, low, high, lanes).getResult();
  };
  Values columns;
  for (int64_t half : {0, 2}) {
    const int64_t pairs[] = {half, 4 + half, half + 1, 5 + half};
    Value upper = shuffle(rows[0], rows[1], pairs), lower = shuffle(rows[2], rows[3], pairs);
    columns.push_back(shuffle(upper, lower, {0, 1, 4, 5}));
    columns.push_back(shuffle(upper, lower, {2, 3, 6, 7}));
  }
  return columns;
}

Value ByteTileEmitter::word(Value column, Value row) { return add(times(column, kPitch), row); }

void ByteTileEmitter::keepTurned(unsigned output, Value shared) {
  ElementMemory words = gpuMemory(ops, b.getI32Type());
  Values rows;
  for (unsigned slot = 0; slot < kPatch; ++slot)
    rows.push_back(ops.splat(scalars.at(nest.yield().getOperand(output), slot), kPatch));
  for (auto [at, column] : llvm::enumerate(turned(rows))) {
    Value value = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), column);
    Value place = word(add(across, number(at)), position.threadId(Dimension::y));
    words.store(words.address(shared, place), vector::ExtractOp::create(b, loc, value, 0));
  }
}

void ByteTileEmitter::storeTurned(unsigned output, Value shared) {
  constexpr int64_t kRuns = GpuPlan::kByteTile / kRun;
  ElementMemory words = gpuMemory(ops, b.getI32Type());
  Value thread =
      add(times(position.threadId(Dimension::y), plan.block()[0]), position.threadId(Dimension::x));
  Value column = arith::DivUIOp::create(b, loc, thread, number(kRuns));
  Value run = arith::RemUIOp::create(b, loc, thread, number(kRuns));
  Values parts;
  for (int64_t at = 0; at < kRun / kPatch; ++at)
    parts.push_back(
        words.load(words.address(shared, word(column, add(times(run, kRun / kPatch), number(at))))));
  Values indices = first;
  indices[plan.lanesDim] = add(first[plan.lanesDim], column);
  indices[*plan.tileDim] = add(first[*plan.tileDim], times(run, kRun));
  Value inside = position.both(exists(indices[plan.lanesDim], plan.lanesDim),
                               exists(indices[*plan.tileDim], *plan.tileDim));
  position.guarded(inside, [&] {
    auto type = VectorType::get({int64_t(parts.size())}, b.getI32Type());
    words.store(memory.outputAddress(output, indices), vector::FromElementsOp::create(b, loc, type, parts));
  });
}

void ByteTileEmitter::emit() {
  position.enterTile();
  first = position.groupIndices;
  across = times(position.threadId(Dimension::x), kPatch);
  along = times(position.threadId(Dimension::y), kPatch);
  enterPatch();
  storeRows();
  SmallVector<std::pair<unsigned, Value>> outputs;
  for (auto [output, access] : llvm::enumerate(nest.outputs))
    if (plan.isTransposed(access)) {
      Value shared = sharedMemory(b, kernel, plan.tile() * kPitch * int64_t(sizeof(int32_t)));
      keepTurned(output, shared);
      outputs.push_back({output, shared});
    }
  mlir::gpu::BarrierOp::create(b, loc);
  for (auto [output, shared] : outputs)
    storeTurned(output, shared);
}
