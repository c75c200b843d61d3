#include "passes/Lower/Gpu/thread/ThreadPosition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;
using mlir::gpu::Dimension;

Value ThreadPosition::threadId(Dimension dim) {
  Value id = mlir::gpu::ThreadIdOp::create(b, loc, b.getIndexType(), dim);
  return arith::IndexCastOp::create(b, loc, indexType(), id);
}

Value ThreadPosition::blockId(Dimension dim) {
  Value id = mlir::gpu::BlockIdOp::create(b, loc, b.getIndexType(), dim);
  return arith::IndexCastOp::create(b, loc, indexType(), id);
}

void ThreadPosition::readPosition() {
  Value thread = threadId(Dimension::x), first = blockId(Dimension::x);
  if (!plan.summed.empty()) {
    rank = arith::RemUIOp::create(b, loc, thread, number(plan.team));
    team = arith::DivUIOp::create(b, loc, thread, number(plan.team));
    groupNumber = first;
    begin = number(0);
    return;
  }
  if (plan.groupsPerBlock > 1)
    first = arith::MulIOp::create(b, loc, first, number(plan.groupsPerBlock));
  if (plan.lanesReduced) {
    rank =
        plan.groupsPerBlock == 1 ? thread : Value(arith::RemUIOp::create(b, loc, thread, number(plan.team)));
    team = arith::DivUIOp::create(b, loc, thread, number(plan.team));
    groupNumber = plan.groupsPerBlock == 1 ? first : Value(arith::AddIOp::create(b, loc, first, team));
  } else {
    column = thread;
    rank = plan.team == 1 ? number(0) : threadId(Dimension::y);
    groupNumber = arith::AddIOp::create(b, loc, first, thread);
  }
  begin = plan.splits == 1 ? number(0)
                           : Value(arith::MulIOp::create(b, loc, blockId(Dimension::y), number(plan.chunk)));
  if (plan.groups % plan.groupsPerBlock)
    groupValid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, groupNumber, number(plan.groups));
}

// Blocks count along the lanes, then along the tile dim, then through the other dims.
void ThreadPosition::enterTile() {
  Value rest = blockId(Dimension::x);
  auto next = [&](int64_t size) {
    Value index = arith::RemUIOp::create(b, loc, rest, number(size));
    rest = arith::DivUIOp::create(b, loc, rest, number(size));
    return index;
  };
  for (unsigned dim : {plan.lanesDim, *plan.tileDim})
    groupIndices[dim] =
        arith::MulIOp::create(b, loc, next(plan.tilesOf(nest.sizes[dim])), number(plan.tile()));
  for (unsigned d : llvm::reverse(plan.parallel))
    if (d != plan.lanesDim && d != *plan.tileDim)
      groupIndices[d] = next(nest.sizes[d]);
}

// Row-major: the last dim runs fastest.
void ThreadPosition::decompose(Value position, ArrayRef<unsigned> dims, Values &indices) {
  for (size_t level = dims.size(); level-- > 0;) {
    unsigned dim = dims[level];
    unsigned width = dim == plan.lanesDim ? plan.width : 1;
    Value index = position;
    if (level) {
      Value size = number(std::max<int64_t>(1, plan.accessesOf(nest.sizes, dim)));
      index = arith::RemUIOp::create(b, loc, position, size);
      position = arith::DivUIOp::create(b, loc, position, size);
    }
    indices[dim] = width == 1 ? index : Value(arith::MulIOp::create(b, loc, index, number(width)));
  }
}

void ThreadPosition::enterGroup() {
  Value position = groupNumber;
  if (groupValid)
    position = arith::MinUIOp::create(b, loc, position, number(plan.groups - 1));
  decompose(position, plan.parallel, groupIndices);
}

void ThreadPosition::enterRow(Value turn) {
  Value row = arith::MulIOp::create(b, loc, turn, number(plan.groupsPerBlock));
  decompose(arith::AddIOp::create(b, loc, row, team), plan.summed, groupIndices);
}

Value ThreadPosition::both(Value a, Value b) {
  return !a ? b : !b ? a : Value(arith::AndIOp::create(this->b, loc, a, b));
}

void ThreadPosition::guarded(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

bool ThreadPosition::variesBySlot(Value v) const {
  if (plan.tileDim)
    return nest.has(v, *plan.tileDim);
  for (unsigned d : plan.reduced)
    if (nest.has(v, d))
      return true;
  return false;
}

// Of the only dim of the units.
Value ThreadPosition::lanesInside(Value unit) {
  Value first = arith::MulIOp::create(b, loc, unit, number(plan.width));
  auto type = VectorType::get({int64_t(plan.width)}, indexType());
  SmallVector<Attribute> places;
  for (unsigned lane = 0; lane < plan.width; ++lane)
    places.push_back(b.getIntegerAttr(indexType(), lane));
  Value lanes = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, places));
  Value index = arith::AddIOp::create(b, loc, ops.splat(first, plan.width), lanes);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index,
                               ops.splat(number(nest.sizes[plan.lanesDim]), plan.width));
}

void ThreadPosition::enterSlots(Value first, int64_t count, int64_t known, int64_t step) {
  inUnits = true;
  step = step ? step : plan.team;
  for (int64_t at = 0; at < count; ++at) {
    Slot slot;
    slot.indices = groupIndices;
    Value unit = at ? Value(arith::AddIOp::create(b, loc, first, number(at * step))) : first;
    if (plan.ragged && (at + 1) * step >= known)
      slot.lanes = lanesInside(unit);
    if ((at + 1) * step > known) {
      slot.valid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, unit, number(plan.units));
      unit = arith::MinUIOp::create(b, loc, unit, number(plan.units - 1));
    }
    decompose(unit, plan.reduced, slot.indices);
    slot.unit = unit;
    slots.push_back(std::move(slot));
  }
}

void ThreadPosition::leaveSlots() {
  slots.clear();
  inUnits = false;
}
