#include "passes/Mesh/ZeroPadding.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace kedge::mesh {
namespace {

/// Evaluates the scalar body of a nest for one element, as far as its operands are known.
class PaddingElement {
public:
  PaddingElement(sched::ClusterOp nest, llvm::function_ref<bool(Value)> isZero) {
    Block &body = nest.getBody().front();
    for (auto [argument, input] : llvm::zip(body.getArguments(), nest->getOperands()))
      if (isZero(input))
        known[argument] = zeroOf(argument.getType());
    for (Operation &op : body.without_terminator())
      evaluate(op);
  }

  bool isZero(Value scalar) const {
    Attribute value = known.lookup(scalar);
    if (auto number = dyn_cast_or_null<FloatAttr>(value))
      return number.getValue().isZero();
    auto number = dyn_cast_or_null<IntegerAttr>(value);
    return number && number.getValue().isZero();
  }

private:
  DenseMap<Value, Attribute> known;

  static Attribute zeroOf(Type type) { return Builder(type.getContext()).getZeroAttr(type); }

  void evaluate(Operation &op) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    const bool anyZero = llvm::any_of(op.getOperands(), [&](Value operand) { return isZero(operand); });
    const bool vanishes = (isa<arith::MulFOp, arith::MulIOp>(op) && anyZero) ||
                          (isa<arith::DivFOp, sched::ReduceOp>(op) && isZero(op.getOperand(0)));
    if (vanishes) {
      known[op.getResult(0)] = zeroOf(op.getResult(0).getType());
      return;
    }
    if (auto select = dyn_cast<arith::SelectOp>(op); select && operands[1] && operands[1] == operands[2]) {
      known[select.getResult()] = operands[1];
      return;
    }
    SmallVector<OpFoldResult> results;
    if (op.getNumResults() != 1 || isa<sched::ReduceOp>(op) || failed(op.fold(operands, results)) ||
        results.empty())
      return;
    if (auto value = dyn_cast<Attribute>(results[0]))
      known[op.getResult(0)] = value;
    else if (Attribute same = known.lookup(cast<Value>(results[0])))
      known[op.getResult(0)] = same;
  }
};

/// Products of zeros; what is but moved; and gradients of what nothing comes back to.
bool movesZeros(Operation *op, const ShardingRule &rule, const CutLoop &cut, const llvm::BitVector &zeros) {
  if (isa<onnx::MatMulOp, onnx::GemmOp, onnx::ConvOp, onnx::ConvTransposeOp, train::ConvGradInputOp,
          train::ConvGradWeightOp, train::ConvTransposeGradInputOp, train::ConvTransposeGradWeightOp,
          train::ScaledProductOp>(op)) {
    const unsigned addend = isa<train::ScaledProductOp>(op) ? 4 : 2;
    const bool addsZeros = op->getNumOperands() <= addend || zeros.test(addend);
    return addsZeros && (zeros.test(0) || zeros.test(1));
  }
  if (isa<train::GatherGradOp>(op) && llvm::is_contained(rule.results[0], cut.loop) && cut.loop == 0)
    return true; // no index is of a row of padding
  if (isa<train::CrossEntropyGradOp>(op))
    return true;
  if (isa<onnx::ReshapeOp, onnx::TransposeOp, onnx::SplitOp, onnx::ConcatOp, onnx::GatherOp,
          train::GatherGradOp, train::AttentionGradOp>(op))
    return llvm::all_of(llvm::enumerate(rule.operands), [&](auto dims) {
      return (isa<train::AttentionGradOp>(op) && dims.index() > 0) || // zeros come with the result's gradient
             !llvm::is_contained(dims.value(), cut.loop) || zeros.test(dims.index());
    });
  return false;
}

} // namespace

llvm::BitVector resultsWithZeros(Operation *op, const ShardingRule &rule, const CutLoop &cut,
                                 const llvm::BitVector &zeros) {
  llvm::BitVector results(op->getNumResults(), movesZeros(op, rule, cut, zeros));
  if (isa<train::AttentionOp>(op))
    results[0] = zeros.test(2);
  if (results.any() || !isClusterable(op))
    return results;
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  sched::ClusterOp nest = buildCluster(builder, op, llvm::BitVector(op->getNumResults(), true));
  PaddingElement element(nest, [&](Value input) {
    return llvm::any_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
      return operand.value() == input && zeros.test(operand.index()) &&
             llvm::is_contained(rule.operands[operand.index()], cut.loop);
    });
  });
  for (auto [i, yielded] : llvm::enumerate(nest.getBody().front().getTerminator()->getOperands()))
    results[i] = element.isZero(yielded);
  nest->erase();
  return results;
}

bool sumsZeros(sched::ClusterOp original, Operation *op, const ShardingRule &rule, int loop) {
  OwningOpRef<sched::ClusterOp> copy(original.clone()); // folding changes what it looks at
  sched::ClusterOp nest = *copy;
  PaddingElement element(nest, [&](Value input) {
    return llvm::any_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
      return operand.value() == input && llvm::is_contained(rule.operands[operand.index()], loop);
    });
  });
  return llvm::all_of(nest.getBody().front().getOps<sched::ReduceOp>(),
                      [&](sched::ReduceOp reduce) { return element.isZero(reduce->getOperand(0)); });
}

} // namespace kedge::mesh
