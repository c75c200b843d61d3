#include "passes/Lower/Cpu/NestMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

Value NestMemory::laneIndex(unsigned copy, unsigned bits) {
  Value base = position.step.base;
  if (copy)
    base = arith::AddIOp::create(b, loc, base, number(int64_t(copy) * plan.width));
  if (bits == 32)
    base = arith::TruncIOp::create(b, loc, b.getI32Type(), base);
  if (plan.width == 1)
    return base;
  SmallVector<Attribute> lanes;
  for (unsigned lane = 0; lane < plan.width; ++lane)
    lanes.push_back(b.getIntegerAttr(b.getIntegerType(bits), lane));
  auto type = cast<VectorType>(lanesOf(b.getIntegerType(bits), plan.width));
  Value iota = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, lanes));
  return arith::AddIOp::create(b, loc, ops.splat(base, plan.width), iota);
}

// Affine expression with non-negative dims, either of one lane (`byLane` false: the first) or of all.
Value NestMemory::expand(AffineExpr e, unsigned copy, unsigned bits, bool byLane) {
  unsigned width = byLane && e.isFunctionOfDim(plan.lanesDim) ? plan.width : 1;
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return ops.intConstant(bits, constant.getValue(), 1);
  if (auto dim = dyn_cast<AffineDimExpr>(e)) {
    if (dim.getPosition() == plan.lanesDim && (width > 1 || copy))
      return laneIndex(copy, bits);
    Value index = position.indices[dim.getPosition()];
    return bits == 32 ? Value(arith::TruncIOp::create(b, loc, b.getI32Type(), index)) : index;
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  Value left = ops.splat(expand(binary.getLHS(), copy, bits, byLane), width);
  Value right = ops.splat(expand(binary.getRHS(), copy, bits, byLane), width);
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::FloorDivSIOp::create(b, loc, left, right);
  case AffineExprKind::Mod: {
    // Affine mod is never negative; what the maps of clusters divide is not either.
    return arith::RemSIOp::create(b, loc, left, right);
  }
  default:
    llvm_unreachable("maps of clusters have no ceildiv");
  }
}

// Offset of the first lane of copy 0, plus `extra` elements: outer dims first, so that their part is
// invariant.
Value NestMemory::scalarOffset(const Access &access, int64_t extra) {
  if (!access.linear) {
    Value offset = expand(access.offset, 0, 64, false);
    return extra ? Value(arith::AddIOp::create(b, loc, offset, number(extra))) : offset;
  }
  Value offset;
  auto add = [&](unsigned dim) {
    int64_t factor = access.coefficients[dim];
    if (factor == 0)
      return;
    Value part = position.indices[dim];
    if (factor != 1)
      part = arith::MulIOp::create(b, loc, part, number(factor));
    offset = offset ? Value(arith::AddIOp::create(b, loc, offset, part)) : part;
  };
  for (unsigned dim : plan.parallel)
    add(dim);
  if (!plan.lanesReduced)
    add(plan.lanesDim);
  for (std::optional<unsigned> dim : {plan.tileDim, plan.pairDim})
    if (dim)
      add(*dim);
  for (unsigned dim : plan.reduced)
    add(dim);
  if (plan.lanesReduced)
    add(plan.lanesDim);
  extra += access.constant;
  if (!offset)
    return number(extra);
  return extra ? Value(arith::AddIOp::create(b, loc, offset, number(extra))) : offset;
}

Value NestMemory::singleOffset(const Access &access, unsigned copy) {
  return access.linear ? scalarOffset(access, copy ? copy * access.coefficients[plan.lanesDim] : 0)
                       : expand(access.offset, copy, 64, false);
}

// One address a lane.
Value NestMemory::addresses(Value pointer, const Access &access, unsigned copy) {
  bool small = access.elements < (int64_t(1) << 31);
  for (int64_t size : nest.sizes)
    small = small && size < (int64_t(1) << 31);
  Value offsets = expand(access.offset, copy, small ? 32 : 64, true);
  if (small)
    offsets = arith::ExtSIOp::create(b, loc, lanesOf(b.getI64Type(), plan.width), offsets);
  return memoryOf(access).address(pointer, offsets);
}

NestMemory::Values NestMemory::load(unsigned input) {
  const Access &access = nest.inputs[input];
  ElementMemory memory = memoryOf(access);
  Value pointer = pointers[input];
  Values values;
  for (unsigned copy = 0; copy < (access.dependsOn(plan.lanesDim) ? position.step.copies : 1); ++copy) {
    if (!access.dependsOn(plan.lanesDim) || plan.width == 1) {
      values.push_back(memory.load(memory.address(pointer, singleOffset(access, copy))));
    } else if (!isContiguous(access)) {
      values.push_back(memory.gather(addresses(pointer, access, copy), mask(copy)));
    } else {
      Value from = memory.address(pointer, scalarOffset(access, int64_t(copy) * plan.width));
      values.push_back(position.isMasked(copy) ? memory.loadMasked(from, mask(copy))
                                               : memory.load(from, plan.width));
    }
  }
  return values;
}

void NestMemory::store(unsigned output, llvm::function_ref<Value(unsigned)> copyOf) {
  const Access &access = nest.outputs[output];
  ElementMemory memory = memoryOf(access);
  Value pointer = pointers[nest.inputs.size() + output];
  for (unsigned copy = 0; copy < (access.dependsOn(plan.lanesDim) ? position.step.copies : 1); ++copy) {
    if (!access.dependsOn(plan.lanesDim) || plan.width == 1) {
      memory.store(memory.address(pointer, singleOffset(access, copy)), copyOf(copy));
      continue;
    }
    Value value = ops.splat(copyOf(copy), plan.width);
    if (!isContiguous(access)) {
      memory.scatter(addresses(pointer, access, copy), value, mask(copy));
      continue;
    }
    Value to = memory.address(pointer, scalarOffset(access, int64_t(copy) * plan.width));
    if (position.isMasked(copy))
      memory.storeMasked(to, value, mask(copy));
    else
      memory.store(to, value);
  }
}

void NestMemory::storePairs(unsigned output, ArrayRef<Value> first, ArrayRef<Value> second) {
  const Access &access = nest.outputs[output];
  ElementMemory memory = memoryOf(access);
  const int64_t width = plan.width;
  for (unsigned copy = 0; copy < first.size(); ++copy)
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < width; ++lane)
        lanes.push_back(half * width / 2 + lane / 2 + (lane % 2 ? width : 0));
      Value value = vector::ShuffleOp::create(b, loc, ops.splat(first[copy], width),
                                              ops.splat(second[copy], width), lanes);
      memory.store(memory.address(pointers[nest.inputs.size() + output],
                                  scalarOffset(access, (2 * copy + half) * width)),
                   value);
    }
}

// Perfect shuffles of rows: each round rotates the bits of (row, column) by one; four rounds swap them.
NestMemory::Values NestMemory::transpose(Values rows) {
  const unsigned n = rows.size();
  SmallVector<int64_t> low, high;
  for (unsigned lane = 0; lane < n; ++lane) {
    low.push_back(lane / 2 + (lane % 2 ? n : 0));
    high.push_back(low.back() + n / 2);
  }
  for (unsigned round = 1; round < n; round *= 2) {
    Values next;
    for (unsigned at = 0; at < n / 2; ++at) {
      next.push_back(vector::ShuffleOp::create(b, loc, rows[at], rows[at + n / 2], low));
      next.push_back(vector::ShuffleOp::create(b, loc, rows[at], rows[at + n / 2], high));
    }
    rows = std::move(next);
  }
  return rows;
}

NestMemory::Values NestMemory::loadTransposed(unsigned input, unsigned count) {
  const Access &access = nest.inputs[input];
  ElementMemory memory = memoryOf(access);
  // Turned around as they lie in memory.
  ElementMemory stored(ops, memory.storedType(), ElementMemory::Vectors::AlignedAsElements);
  Values rows;
  for (unsigned lane = 0; lane < plan.width; ++lane) {
    if (lane >= position.step.lastLanes) {
      rows.push_back(stored.storedZeros(plan.width));
      continue;
    }
    Value from =
        stored.address(pointers[input], scalarOffset(access, lane * access.coefficients[plan.lanesDim]));
    rows.push_back(count < plan.width ? stored.loadMasked(from, leadingLanes(ops, count, plan.width))
                                      : stored.load(from, plan.width));
  }
  rows = transpose(std::move(rows));
  rows.resize(count);
  for (Value &row : rows)
    row = memory.fromStored(row);
  return rows;
}
