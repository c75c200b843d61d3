#include "passes/Lower/Cluster/ElementMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

Type ElementMemory::storedType(unsigned width) const {
  Type single = element.isInteger(1) ? ops.builder.getIntegerType(8) : ops.registerType(element, 1);
  return lanesOf(single, width);
}

unsigned ElementMemory::alignmentOf(unsigned width) const {
  constexpr unsigned kWidestAccess = 16;
  return vectors == Vectors::AlignedAsElements ? bytes() : std::min(kWidestAccess, bytes() * width);
}

Value ElementMemory::address(Value base, Value offset, unsigned width) const {
  Type type = lanesOf(base.getType(), widthOf(offset));
  return LLVM::GEPOp::create(ops.builder, ops.loc, type, storedType(width), base,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

Value ElementMemory::storedZeros(unsigned width) const {
  return ops.constant(cast<TypedAttr>(ops.builder.getZeroAttr(storedType())), width);
}

Value ElementMemory::fromStored(Value stored) const {
  if (!element.isInteger(1))
    return stored;
  return arith::CmpIOp::create(ops.builder, ops.loc, arith::CmpIPredicate::ne, stored,
                               storedZeros(widthOf(stored)));
}

Value ElementMemory::toStored(Value value) const {
  if (!element.isInteger(1))
    return value;
  return arith::ExtUIOp::create(ops.builder, ops.loc, storedType(widthOf(value)), value);
}

Value ElementMemory::load(Value address, unsigned width) const {
  return fromStored(
      LLVM::LoadOp::create(ops.builder, ops.loc, storedType(width), address, alignmentOf(width)).getResult());
}

Value ElementMemory::loadMasked(Value address, Value mask) const {
  unsigned width = widthOf(mask);
  return fromStored(LLVM::MaskedLoadOp::create(ops.builder, ops.loc, storedType(width), address, mask,
                                               storedZeros(width), alignmentOf(width)));
}

Value ElementMemory::gather(Value addresses, Value mask) const {
  unsigned width = widthOf(mask);
  return fromStored(LLVM::masked_gather::create(ops.builder, ops.loc, storedType(width), addresses, mask,
                                                storedZeros(width), bytes()));
}

void ElementMemory::store(Value address, Value value) const {
  LLVM::StoreOp::create(ops.builder, ops.loc, toStored(value), address, alignmentOf(widthOf(value)));
}

static bool isFirstLaneAlone(Value mask) {
  DenseElementsAttr lanes;
  if (!matchPattern(mask, m_Constant(&lanes)))
    return false;
  auto set = lanes.getValues<bool>();
  return *set.begin() && llvm::count(set, true) == 1;
}

// LLVM 22 makes of a masked store of one lane, whose value is truncated, a store of the wider number
// (AVX-512): it would write over the element behind.
void ElementMemory::storeMasked(Value address, Value value, Value mask) const {
  if (isFirstLaneAlone(mask))
    return store(address, vector::ExtractOp::create(ops.builder, ops.loc, value, 0));
  LLVM::MaskedStoreOp::create(ops.builder, ops.loc, toStored(value), address, mask,
                              alignmentOf(widthOf(value)));
}

void ElementMemory::scatter(Value addresses, Value value, Value mask) const {
  LLVM::masked_scatter::create(ops.builder, ops.loc, toStored(value), addresses, mask, bytes());
}

Value kedge::lower::leadingLanes(ScalarOps &ops, unsigned count, unsigned width) {
  SmallVector<bool> lanes(width, false);
  std::fill(lanes.begin(), lanes.begin() + count, true);
  auto type = cast<VectorType>(lanesOf(ops.builder.getI1Type(), width));
  return arith::ConstantOp::create(ops.builder, ops.loc, DenseElementsAttr::get(type, lanes));
}
