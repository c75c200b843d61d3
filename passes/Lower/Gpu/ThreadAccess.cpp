// Loads and stores of a thread.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/ThreadEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

Type ThreadEmitter::memoryType(Type element) const {
  return element.isInteger(1) ? b.getIntegerType(8) : ops.registerType(element, 1);
}

Value ThreadEmitter::fromMemory(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  Value zero = ops.intConstant(8, 0, kedge::lower::widthOf(value));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

Value ThreadEmitter::toMemory(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return arith::ExtUIOp::create(b, loc, lanesOf(b.getIntegerType(8), kedge::lower::widthOf(value)), value);
}

Value ThreadEmitter::lanes(llvm::function_ref<Value(unsigned)> make) {
  Values values;
  for (unsigned lane = 0; lane < plan.width; ++lane)
    values.push_back(make(lane));
  return vector::FromElementsOp::create(b, loc, VectorType::get({plan.width}, values[0].getType()), values);
}

// Affine expression of non-negative indices at one lane: nothing that maps divide is negative.
Value ThreadEmitter::expand(AffineExpr e, const Values &indices, unsigned lane) {
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return number(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(e)) {
    Value index = indices[dim.getPosition()];
    bool moves = lane && dim.getPosition() == plan.lanesDim;
    return moves ? Value(arith::AddIOp::create(b, loc, index, number(lane))) : index;
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  Value left = expand(binary.getLHS(), indices, lane), right = expand(binary.getRHS(), indices, lane);
  switch (e.getKind()) {
  case AffineExprKind::Add: return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul: return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv: return arith::DivUIOp::create(b, loc, left, right);
  case AffineExprKind::Mod: return arith::RemUIOp::create(b, loc, left, right);
  default: llvm_unreachable("maps of clusters have no ceildiv");
  }
}

Value ThreadEmitter::offset(const Access &access, const Values &indices, unsigned lane) {
  if (!access.linear)
    return expand(access.offset, indices, lane);
  int64_t constant = access.constant + lane * access.coefficients[plan.lanesDim];
  Value sum;
  // Parallel dims first: their part stays the same from unit to unit.
  for (ArrayRef<unsigned> dims : {ArrayRef(plan.parallel), ArrayRef(plan.reduced)})
    for (unsigned d : dims) {
      if (access.coefficients[d] == 0)
        continue;
      Value part = indices[d];
      if (access.coefficients[d] != 1)
        part = arith::MulIOp::create(b, loc, part, number(access.coefficients[d]));
      sum = sum ? Value(arith::AddIOp::create(b, loc, sum, part)) : part;
    }
  if (!sum)
    return number(constant);
  return constant ? Value(arith::AddIOp::create(b, loc, sum, number(constant))) : sum;
}

Value ThreadEmitter::address(Value pointer, const Access &access, Value offset) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), memoryType(access.element), pointer,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

unsigned ThreadEmitter::alignmentOf(const Access &access, unsigned lanes) const {
  return std::min(16u, memoryType(access.element).getIntOrFloatBitWidth() / 8 * lanes);
}

void ThreadEmitter::load(unsigned input) {
  const Access &access = nest.inputs[input];
  BlockArgument argument = nest.body().getArgument(input);
  Value pointer = kernel.getArgument(input);
  Type element = memoryType(access.element);
  Values values;
  for (unsigned copy = 0; copy < copiesOf(argument); ++copy) {
    auto single = [&](unsigned lane) -> Value {
      Value from = address(pointer, access, offset(access, indicesOf(copy), lane));
      return LLVM::LoadOp::create(b, loc, element, from, alignmentOf(access, 1));
    };
    Value value;
    if (widthOf(argument) == 1) {
      value = single(0);
    } else if (isVector(plan, access, nest.sizes)) {
      Value from = address(pointer, access, offset(access, indicesOf(copy), 0));
      value = LLVM::LoadOp::create(b, loc, lanesOf(element, plan.width), from, alignmentOf(access, plan.width));
    } else {
      value = lanes(single);
    }
    values.push_back(fromMemory(value, access.element));
  }
  env[argument] = std::move(values);
}

void ThreadEmitter::store(unsigned output, unsigned copy) {
  const Access &access = nest.outputs[output];
  Value pointer = kernel.getArgument(nest.inputs.size() + output), result = nest.yield().getOperand(output);
  bool isPartial = plan.splits > 1 && !plan.walksRows;
  auto place = [&](unsigned lane) {
    Value position = offset(access, indicesOf(copy), lane);
    if (isPartial) {
      // Partial results: one whole output for each split.
      Value split = blockId(mlir::gpu::Dimension::y);
      position = arith::AddIOp::create(b, loc, position,
                                       arith::MulIOp::create(b, loc, split, number(access.elements)));
    }
    return address(pointer, access, position);
  };
  Value value = at(result, copy);
  if (!access.dependsOn(plan.lanesDim) || plan.width == 1) {
    LLVM::StoreOp::create(b, loc, toMemory(value, access.element), place(0), alignmentOf(access, 1));
    return;
  }
  value = toMemory(ops.splat(value, plan.width), access.element);
  if (isVector(plan, access, nest.sizes) && (!isPartial || access.elements % plan.width == 0)) {
    LLVM::StoreOp::create(b, loc, value, place(0), alignmentOf(access, plan.width));
    return;
  }
  for (unsigned lane = 0; lane < plan.width; ++lane) {
    Value element = vector::ExtractOp::create(b, loc, value, lane);
    LLVM::StoreOp::create(b, loc, element, place(lane), alignmentOf(access, 1));
  }
}
