#include "passes/Lower/Gpu/thread/ThreadScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

// The lanes of two vectors behind each other.
Value ThreadScalars::joined(Value low, Value high) {
  SmallVector<int64_t> lanes(llvm::to_vector(llvm::seq<int64_t>(widthOf(low) + widthOf(high))));
  return vector::ShuffleOp::create(ops.builder, ops.loc, low, high, lanes);
}

Value ThreadScalars::emitIndex(sched::IndexOp op, unsigned copy) {
  return memory.index(nest.index[op.getDim()], copy, lanesOf(op.getResult()));
}

// An index is compared with a number of its row (a label) in the width of positions: a number that fits no
// position becomes -1, once a row.
Value ThreadScalars::emitShorter(Operation &op, unsigned copy) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  using P = arith::CmpIPredicate;
  if (!compare || position.plan.wideIndex || !llvm::is_contained({P::eq, P::ne}, compare.getPredicate()))
    return {};
  auto index = compare.getLhs().getDefiningOp<sched::IndexOp>();
  Value number = index ? compare.getRhs() : compare.getLhs();
  if (!index)
    index = compare.getRhs().getDefiningOp<sched::IndexOp>();
  if (!index || position.copiesOf(number) != 1 || position.lanesOf(number) != 1)
    return {};
  OpBuilder &b = ops.builder;
  Value wide = at(number, copy);
  Value narrow = arith::TruncIOp::create(b, ops.loc, b.getI32Type(), wide);
  Value isSame = arith::CmpIOp::create(b, ops.loc, arith::CmpIPredicate::eq, wide,
                                       arith::ExtSIOp::create(b, ops.loc, wide.getType(), narrow));
  narrow = arith::SelectOp::create(b, ops.loc, isSame, narrow, ops.intConstant(32, -1, 1));
  const unsigned width = lanesOf(index.getResult());
  const AffineExpr expression = nest.index[index.getDim()];
  if (width == 1 || expression != getAffineDimExpr(position.plan.lanesDim, b.getContext()))
    return arith::CmpIOp::create(b, ops.loc, compare.getPredicate(), memory.position(expression, copy, width),
                                 ops.splat(narrow, width));
  // The number's distance from the first lane is a lane's number.
  Value distance = arith::SubIOp::create(b, ops.loc, narrow, memory.position(expression, copy, 1));
  const auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(width)));
  Value numbers = arith::ConstantOp::create(b, ops.loc, b.getI32VectorAttr(lanes));
  return arith::CmpIOp::create(b, ops.loc, compare.getPredicate(), ops.splat(distance, width), numbers);
}

// One draw gives the numbers of four neighbours.
std::optional<BodyWalk::Values> ThreadScalars::emitTogether(sched::RandomOp random) {
  if (position.plan.width % 4 != 0 || !position.isInLanes(random))
    return std::nullopt;
  for (Value scalar : {random.getSeed(), random.getStep(), random.getRow()})
    if (position.isInLanes(scalar))
      return std::nullopt;
  auto element = nest.runOf(random.getElement(), position.plan.lanesDim);
  if (!element || element->stride != 1 || element->restDivisor % 4 != 0)
    return std::nullopt;
  Values values;
  for (unsigned copy = 0; copy < copiesOf(random); ++copy) {
    Value numbers;
    for (unsigned lane = 0; lane < position.plan.width; lane += 4) {
      Value first = vector::ExtractOp::create(ops.builder, ops.loc, at(random.getElement(), copy), lane);
      Value block = ops.randomBlock(random, at(random.getSeed(), copy), at(random.getStep(), copy),
                                    at(random.getRow(), copy), first);
      numbers = lane == 0 ? block : joined(numbers, block);
    }
    values.push_back(numbers);
  }
  return values;
}
