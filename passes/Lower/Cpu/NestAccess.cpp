// Loads and stores of the nest emitter.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Cpu/NestEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

Type NestEmitter::memoryType(const Access &access) const {
  if (access.element.isInteger(1))
    return b.getIntegerType(8);
  return ops.registerType(access.element, 1);
}

Value NestEmitter::fromMemory(Value value, const Access &access) {
  if (!access.element.isInteger(1))
    return value;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, ops.intConstant(8, 0, widthOf(value)));
}

Value NestEmitter::toMemory(Value value, const Access &access) {
  if (!access.element.isInteger(1))
    return value;
  return arith::ExtUIOp::create(b, loc, lanesOf(b.getIntegerType(8), widthOf(value)), value);
}

Value NestEmitter::laneIndex(unsigned copy, unsigned bits) {
  Value base = step.base;
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
Value NestEmitter::expand(AffineExpr e, unsigned copy, unsigned bits, bool byLane) {
  unsigned width = byLane && variesByLane(e) ? plan.width : 1;
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return ops.intConstant(bits, constant.getValue(), 1);
  if (auto dim = dyn_cast<AffineDimExpr>(e)) {
    if (dim.getPosition() == plan.lanesDim && (width > 1 || copy))
      return laneIndex(copy, bits);
    Value index = indices[dim.getPosition()];
    return bits == 32 ? Value(arith::TruncIOp::create(b, loc, b.getI32Type(), index)) : index;
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  Value left = ops.splat(expand(binary.getLHS(), copy, bits, byLane), width);
  Value right = ops.splat(expand(binary.getRHS(), copy, bits, byLane), width);
  switch (e.getKind()) {
  case AffineExprKind::Add: return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul: return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv: return arith::FloorDivSIOp::create(b, loc, left, right);
  case AffineExprKind::Mod: {
    // Affine mod is never negative; what the maps of clusters divide is not either.
    return arith::RemSIOp::create(b, loc, left, right);
  }
  default: llvm_unreachable("maps of clusters have no ceildiv");
  }
}

// Offset of the first lane of copy 0, plus `extra` elements: outer dims first, so that their part is invariant.
Value NestEmitter::scalarOffset(const Access &access, int64_t extra) {
  if (!access.linear) {
    Value offset = expand(access.offset, 0, 64, false);
    return extra ? Value(arith::AddIOp::create(b, loc, offset, number(extra))) : offset;
  }
  Value offset;
  auto add = [&](unsigned dim) {
    int64_t factor = access.coefficients[dim];
    if (factor == 0)
      return;
    Value part = indices[dim];
    if (factor != 1)
      part = arith::MulIOp::create(b, loc, part, number(factor));
    offset = offset ? Value(arith::AddIOp::create(b, loc, offset, part)) : part;
  };
  for (unsigned dim : plan.parallel)
    add(dim);
  if (!plan.lanesReduced)
    add(plan.lanesDim);
  if (plan.tileDim)
    add(*plan.tileDim);
  for (unsigned dim : plan.reduced)
    add(dim);
  if (plan.lanesReduced)
    add(plan.lanesDim);
  extra += access.constant;
  if (!offset)
    return number(extra);
  return extra ? Value(arith::AddIOp::create(b, loc, offset, number(extra))) : offset;
}

Value NestEmitter::address(Value pointer, const Access &access, Value offset) {
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  Type type = lanesOf(pointerType, widthOf(offset));
  return LLVM::GEPOp::create(b, loc, type, memoryType(access), pointer, ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

// One address a lane.
Value NestEmitter::addresses(Value pointer, const Access &access, unsigned copy) {
  bool small = access.elements < (int64_t(1) << 31);
  for (int64_t size : nest.sizes)
    small = small && size < (int64_t(1) << 31);
  Value offsets = expand(access.offset, copy, small ? 32 : 64, true);
  if (small)
    offsets = arith::ExtSIOp::create(b, loc, lanesOf(b.getI64Type(), plan.width), offsets);
  return address(pointer, access, offsets);
}

Value NestEmitter::mask(unsigned copy) { return leadingLanes(isMasked(copy) ? step.lastLanes : plan.width); }

Value NestEmitter::leadingLanes(unsigned count) {
  SmallVector<bool> lanes(plan.width, false);
  std::fill(lanes.begin(), lanes.begin() + count, true);
  auto type = cast<VectorType>(lanesOf(b.getI1Type(), plan.width));
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, lanes));
}

NestEmitter::Values NestEmitter::load(unsigned input) {
  const Access &access = nest.inputs[input];
  Value pointer = pointers[input];
  Type element = memoryType(access);
  unsigned align = element.getIntOrFloatBitWidth() / 8;
  if (!access.dependsOn(plan.lanesDim) || plan.width == 1) {
    Values values;
    unsigned copies = access.dependsOn(plan.lanesDim) ? step.copies : 1;
    for (unsigned copy = 0; copy < copies; ++copy) {
      Value offset = access.linear ? scalarOffset(access, copy ? copy * access.coefficients[plan.lanesDim] : 0)
                                   : expand(access.offset, copy, 64, false);
      Value value = LLVM::LoadOp::create(b, loc, element, address(pointer, access, offset), align);
      values.push_back(fromMemory(value, access));
    }
    return values;
  }
  Type type = lanesOf(element, plan.width);
  bool contiguous = access.linear && access.coefficients[plan.lanesDim] == 1;
  auto zero = [&]() -> Value {
    return ops.constant(cast<TypedAttr>(b.getZeroAttr(element)), plan.width);
  };
  Values values;
  for (unsigned copy = 0; copy < step.copies; ++copy) {
    Value value;
    if (!contiguous) {
      value = LLVM::masked_gather::create(b, loc, type, addresses(pointer, access, copy), mask(copy), zero(),
                                          align);
    } else {
      Value from = address(pointer, access, scalarOffset(access, int64_t(copy) * plan.width));
      if (isMasked(copy))
        value = LLVM::MaskedLoadOp::create(b, loc, type, from, mask(copy), zero(), align);
      else
        value = LLVM::LoadOp::create(b, loc, type, from, align);
    }
    values.push_back(fromMemory(value, access));
  }
  return values;
}

// Perfect shuffles of rows: each round rotates the bits of (row, column) by one; four rounds swap them.
NestEmitter::Values NestEmitter::transpose(Values rows) {
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

NestEmitter::Values NestEmitter::loadTransposed(const Access &access, Value pointer, unsigned count) {
  Type element = memoryType(access), type = lanesOf(element, plan.width);
  unsigned align = element.getIntOrFloatBitWidth() / 8;
  Value zero = ops.constant(cast<TypedAttr>(b.getZeroAttr(element)), plan.width);
  Values rows;
  for (unsigned lane = 0; lane < plan.width; ++lane) {
    if (lane >= step.lastLanes) {
      rows.push_back(zero);
      continue;
    }
    Value from = address(pointer, access, scalarOffset(access, lane * access.coefficients[plan.lanesDim]));
    if (count < plan.width)
      rows.push_back(LLVM::MaskedLoadOp::create(b, loc, type, from, leadingLanes(count), zero, align));
    else
      rows.push_back(LLVM::LoadOp::create(b, loc, type, from, align));
  }
  rows = transpose(std::move(rows));
  rows.resize(count);
  for (Value &row : rows)
    row = fromMemory(row, access);
  return rows;
}

void NestEmitter::store(unsigned output) {
  const Access &access = nest.outputs[output];
  Value pointer = pointers[nest.inputs.size() + output], result = nest.yield().getOperand(output);
  unsigned align = memoryType(access).getIntOrFloatBitWidth() / 8;
  if (!access.dependsOn(plan.lanesDim) || plan.width == 1) {
    unsigned copies = access.dependsOn(plan.lanesDim) ? step.copies : 1;
    for (unsigned copy = 0; copy < copies; ++copy) {
      Value offset = access.linear ? scalarOffset(access, copy ? copy * access.coefficients[plan.lanesDim] : 0)
                                   : expand(access.offset, copy, 64, false);
      LLVM::StoreOp::create(b, loc, toMemory(at(result, copy), access), address(pointer, access, offset), align);
    }
    return;
  }
  bool contiguous = access.linear && access.coefficients[plan.lanesDim] == 1;
  for (unsigned copy = 0; copy < step.copies; ++copy) {
    Value value = toMemory(ops.splat(at(result, copy), plan.width), access);
    if (!contiguous) {
      LLVM::masked_scatter::create(b, loc, value, addresses(pointer, access, copy), mask(copy),
                                   align);
      continue;
    }
    Value to = address(pointer, access, scalarOffset(access, int64_t(copy) * plan.width));
    if (isMasked(copy))
      LLVM::MaskedStoreOp::create(b, loc, value, to, mask(copy), align);
    else
      LLVM::StoreOp::create(b, loc, value, to, align);
  }
}
