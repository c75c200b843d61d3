#include "passes/Lower/Gpu/thread/ThreadMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

Value ThreadMemory::lanes(llvm::function_ref<Value(unsigned)> make) {
  Values values;
  for (unsigned lane = 0; lane < plan.width; ++lane)
    values.push_back(make(lane));
  return vector::FromElementsOp::create(b, loc, VectorType::get({plan.width}, values[0].getType()), values);
}

// Affine expression of non-negative indices at one lane: nothing that maps divide is negative.
Value ThreadMemory::expand(AffineExpr e, const Values &indices, unsigned lane) {
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
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(b, loc, left, right);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, loc, left, right);
  default:
    llvm_unreachable("maps of clusters have no ceildiv");
  }
}

Value ThreadMemory::offset(const Access &access, const Values &indices, unsigned lane) {
  if (!access.linear)
    return expand(access.offset, indices, lane);
  int64_t constant = access.constant + lane * access.coefficients[plan.lanesDim];
  Value sum;
  // Parallel dims first: their part stays the same from unit to unit.
  for (ArrayRef<unsigned> dims : {ArrayRef(plan.parallel), ArrayRef(plan.summed), ArrayRef(plan.reduced)})
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

Value ThreadMemory::position(AffineExpr e, unsigned copy, unsigned width) {
  auto single = [&](unsigned lane) { return expand(e, place.indicesOf(copy), lane); };
  return width == 1 ? single(0) : lanes(single);
}

Value ThreadMemory::index(AffineExpr e, unsigned copy, unsigned width) {
  auto single = [&](unsigned lane) -> Value {
    Value value = expand(e, place.indicesOf(copy), lane);
    return plan.wideIndex ? value : Value(arith::ExtSIOp::create(b, loc, b.getI64Type(), value));
  };
  return width == 1 ? single(0) : lanes(single);
}

Value ThreadMemory::inputAddress(unsigned input, const Values &indices) {
  const Access &access = nest.inputs[input];
  return gpuMemory(ops, access.element).address(kernel.getArgument(input), offset(access, indices, 0));
}

Value ThreadMemory::outputAddress(unsigned output, const Values &indices) {
  const Access &access = nest.outputs[output];
  return gpuMemory(ops, access.element)
      .address(kernel.getArgument(nest.inputs.size() + output), offset(access, indices, 0));
}

ThreadMemory::Values ThreadMemory::load(unsigned input) {
  const Access &access = nest.inputs[input];
  BlockArgument argument = nest.body().getArgument(input);
  ElementMemory memory = gpuMemory(ops, access.element);
  Values values;
  for (unsigned copy = 0; copy < place.copiesOf(argument); ++copy) {
    auto at = [&](unsigned lane) {
      return memory.address(kernel.getArgument(input), offset(access, place.indicesOf(copy), lane));
    };
    if (place.lanesOf(argument) == 1)
      values.push_back(memory.load(at(0)));
    else if (isVector(plan, access, nest.sizes))
      values.push_back(memory.load(at(0), plan.width));
    else
      values.push_back(lanes([&](unsigned lane) { return memory.load(at(lane)); }));
  }
  return values;
}

void ThreadMemory::store(unsigned output, unsigned copy, Value value) {
  const Access &access = nest.outputs[output];
  ElementMemory memory = gpuMemory(ops, access.element);
  bool isPartial = plan.splits > 1 && !plan.walksRows && !nest.isPoint(access);
  auto at = [&](unsigned lane) {
    Value element = offset(access, place.indicesOf(copy), lane);
    if (isPartial) {
      // Partial results: one whole output for each split.
      Value split = place.blockId(mlir::gpu::Dimension::y);
      element = arith::AddIOp::create(b, loc, element,
                                      arith::MulIOp::create(b, loc, split, number(access.elements)));
    }
    return memory.address(kernel.getArgument(nest.inputs.size() + output), element);
  };
  if (!access.dependsOn(plan.lanesDim) || plan.width == 1)
    return memory.store(at(0), value);
  value = ops.splat(value, plan.width);
  if (Value lanes = place.slots.empty() ? Value() : place.slots[copy].lanes) {
    Value zeros = ops.constant(cast<TypedAttr>(b.getZeroAttr(memory.storedType())), plan.width);
    value = arith::SelectOp::create(b, loc, lanes, value, zeros);
  }
  if (isVector(plan, access, nest.sizes) && (!isPartial || access.elements % plan.width == 0))
    return memory.store(at(0), value);
  for (unsigned lane = 0; lane < plan.width; ++lane)
    memory.store(at(lane), vector::ExtractOp::create(b, loc, value, lane));
}
