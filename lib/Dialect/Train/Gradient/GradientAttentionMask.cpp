#include "lib/Dialect/Train/Gradient/GradientAttentionMask.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// Whether a gradient may reach a parameter through `root`: follows differentiable operands to function
/// arguments that are state.
bool mayTrain(Value root) {
  SmallVector<Value> pending = {root};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Value v = pending.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
      if (!function || train::stateOfArgument(function, argument.getArgNumber()))
        return true;
      continue;
    }
    Operation *op = v.getDefiningOp();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable || !seen.insert(op).second)
      continue;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (differentiable.isDifferentiableOperand(index))
        pending.push_back(operand);
  }
  return false;
}

struct Primitives {
  OpBuilder &builder;
  Location loc;

  Value mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return SubOp::create(builder, loc, a, b); }
  Value scaled(Value v, double factor) { return mul(v, scalarLike(builder, loc, v, factor)); }
  Value reshape(Value v, ArrayRef<int64_t> shape) { return ReshapeOp::create(builder, loc, v, shape); }
  Value cast(Value v, Type element) {
    return elementOf(v) == element ? v : Value(CastOp::create(builder, loc, v, element));
  }

  /// [B, H, T, D] with each head repeated up to `heads`.
  Value perHead(Value v, AttentionLayout layout, int64_t heads) {
    if (layout == AttentionLayout::BTHD)
      v = TransposeOp::create(builder, loc, v, ArrayRef<int64_t>{0, 2, 1, 3});
    SmallVector<int64_t> s(shapeOf(v));
    if (s[1] == heads)
      return v;
    int64_t group = heads / s[1];
    Value wide = ExpandOp::create(builder, loc, reshape(v, {s[0], s[1], 1, s[2], s[3]}),
                                  ArrayRef<int64_t>{s[0], s[1], group, s[2], s[3]});
    return reshape(wide, {s[0], heads, s[2], s[3]});
  }
};
} // namespace

// A sink's value is 0: d = -exp(sink - LSE) sum(dO O), summed over rows and queries.
Value train::attentionSinkGradient(OpBuilder &builder, AttentionOp op, Value dO) {
  Value sinks = op.getSinks();
  if (!mayTrain(sinks))
    return {};
  Primitives b{builder, op.getLoc()};
  const int64_t heads = shapeOf(op.getLSE())[1];
  Value o = b.perHead(op.getO(), op.getOLayout(), heads), grad = b.perHead(dO, op.getOLayout(), heads);
  Type element = statType(elementOf(op.getQ()));
  Value along = ReduceSumOp::create(builder, b.loc, b.mul(b.cast(grad, element), b.cast(o, element)), {3},
                                    /*keepdims=*/false);
  Value score = b.reshape(b.cast(sinks, element), {1, heads, 1});
  Value share = ExpOp::create(builder, b.loc, b.sub(score, op.getLSE()));
  Value all = ReduceSumOp::create(builder, b.loc, b.mul(share, along), {0, 2}, /*keepdims=*/false);
  return b.cast(b.scaled(all, -1), elementOf(sinks));
}

// With P = exp(S - LSE): dS = P (dropped(dO V^T) - sum(dO O)), summed to the mask's shape.
Value train::attentionMaskGradient(OpBuilder &builder, AttentionOp op, Value dO) {
  Value mask = op.getMask();
  if (!mayTrain(mask))
    return {};
  Primitives b{builder, op.getLoc()};
  ArrayRef<int64_t> lse = shapeOf(op.getLSE());
  Value q = b.perHead(op.getQ(), op.getQLayout(), lse[1]), k = b.perHead(op.getK(), op.getKLayout(), lse[1]);
  Value v = b.perHead(op.getV(), op.getVLayout(), lse[1]);
  Value o = b.perHead(op.getO(), op.getOLayout(), lse[1]), grad = b.perHead(dO, op.getOLayout(), lse[1]);
  Type element = statType(elementOf(q));
  Value scores = b.cast(MatMulOp::create(builder, b.loc, q, k, false, true), element);
  scores = b.scaled(scores, op.getScale().convertToDouble());
  if (double softcap = op.getSoftcap().convertToDouble(); softcap > 0)
    scores = b.scaled(TanhOp::create(builder, b.loc, b.scaled(scores, 1 / softcap)), softcap);
  scores = AddOp::create(builder, b.loc, scores, b.cast(mask, element));
  Value probabilities =
      ExpOp::create(builder, b.loc, b.sub(scores, b.reshape(op.getLSE(), {lse[0], lse[1], lse[2], 1})));
  if (std::optional<Visible> visible = op.getVisible()) {
    if (visible->right)
      probabilities = TriluOp::create(builder, b.loc, probabilities, /*upper=*/false, *visible->right);
    if (visible->left)
      probabilities = TriluOp::create(builder, b.loc, probabilities, /*upper=*/true, -*visible->left);
  }
  Value along = b.cast(MatMulOp::create(builder, b.loc, grad, v, false, true), element);
  if (OperandRange random = op.getRandom(); !random.empty())
    along = DropoutGradOp::create(builder, b.loc, along, random[0], random[1], random[2], op.getRatioAttr(),
                                  op.getOpIdAttr(), builder.getI64IntegerAttr(0), op.getRowSizeAttr());
  Value products = b.cast(b.mul(grad, o), element);
  Value mean = ReduceSumOp::create(builder, b.loc, products, {3}, /*keepdims=*/true);
  Value dScores = b.mul(probabilities, b.sub(along, mean));
  return reduceTo(builder, b.loc, b.cast(dScores, elementOf(mask)), mask);
}
