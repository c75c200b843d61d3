#include "passes/Mesh/Context/Positions.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Interfaces/PositionOpInterface.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "passes/Mesh/Demand.h"

using namespace mlir;
using namespace kedge::onnx;

namespace kedge::mesh {

ShardingRule positionRuleOf(Operation *op, int64_t ranks) {
  if (auto own = dyn_cast<PositionOpInterface>(op))
    return own.positionRule();
  return ruleOf(op, ranks);
}

std::optional<Layout> reshaped(const Layout &layout, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                               int64_t positions) {
  // Elements before a position of the whole tensor, and of one position.
  int64_t outside = elementCount(from.take_front(layout.dim)) * std::max<int64_t>(1, layout.sections.size());
  const int64_t inside = elementCount(from) / (outside * positions);
  for (auto [dim, size] : llvm::enumerate(to)) {
    const int64_t behind = elementCount(to.drop_front(dim + 1));
    if (outside > 0 && behind > 0 && size % positions == 0 && inside % behind == 0 &&
        size % (positions * (inside / behind)) == 0 &&
        elementCount(to.take_front(dim)) * (size / (positions * (inside / behind))) == outside) {
      Layout found(static_cast<int>(dim), {});
      const int64_t sections = size / (positions * (inside / behind));
      if (sections > 1)
        found.sections.assign(sections, size / sections);
      return found;
    }
  }
  return std::nullopt;
}

/// Whether each summand of a result is that of the rank's part of the loop, and nothing else.
static bool sumsAlong(Operation *op) {
  if (isa<PositionOpInterface>(op))
    return true;
  if (auto gemm = dyn_cast<GemmOp>(op))
    return !gemm.getC();
  return isa<MatMulOp, train::SumProductsOp>(op) || !isa<ShardingOpInterface>(op);
}

std::optional<CutLoop> positionLoop(Operation *op, const ShardingRule &rule, ArrayRef<int> dims,
                                    const Layout &layout, int64_t ranks) {
  const int loop = dims[layout.dim];
  if (loop == ShardingRule::kWhole || !rule.loops[loop].sections.empty() || rule.loops[loop].isExact ||
      (rule.loops[loop].reduced && !sumsAlong(op)) || !rule.loops[loop].isDivisible(ranks))
    return std::nullopt;
  const CutLoop cut(loop, layout);
  const auto fits = [&](Value value, ArrayRef<int> own) {
    const int dim = ShardingRule::dimOf(own, loop);
    if (dim == ShardingRule::kWhole)
      return true;
    const int64_t size = shapeOf(value)[dim];
    return size % ranks == 0 && (cut.sections.empty() || llvm::sum_of(cut.sections) == size);
  };
  for (auto [value, own] : llvm::zip(op->getOperands(), rule.operands))
    if (!fits(value, own))
      return std::nullopt;
  for (auto [value, own] : llvm::zip(op->getResults(), rule.results))
    if (!fits(value, own) ||
        (ShardingRule::dimOf(own, loop) == ShardingRule::kWhole && !rule.loops[loop].reduced))
      return std::nullopt;
  return cut;
}

bool keepsSums(Operation *op, llvm::function_ref<bool(Value)> isSum) {
  const auto isOne = [&](unsigned index) { return isSum(op->getOperand(index)); };
  if (isa<AddOp, SubOp, ConcatOp>(op))
    return llvm::all_of(op->getOperands(), isSum);
  if (isa<MulOp>(op))
    return isOne(0) != isOne(1);
  if (isa<DivOp>(op))
    return isOne(0) && !isOne(1);
  if (auto cast = dyn_cast<CastOp>(op))
    return isa<FloatType>(elementOf(cast.getResult())) && isa<FloatType>(elementOf(cast.getOperand()));
  return isa<ReshapeOp, TransposeOp, SliceOp, SplitOp, ReduceSumOp, NegOp>(op);
}

bool mayReadAll(Operation *op, Value operand) {
  return !isa<FloatType>(elementOf(operand)) || isa<SliceOp, GatherOp>(op);
}

} // namespace kedge::mesh
