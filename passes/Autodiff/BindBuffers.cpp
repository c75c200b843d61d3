#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_BINDBUFFERS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct BindBuffers : impl::BindBuffersBase<BindBuffers> {
  void run() override {
    func::FuncOp function = getOperation();
    std::optional<train::FunctionKind> kind = train::kindOf(function);
    bool evaluation = kind && train::evaluates(*kind);
    SmallVector<train::BatchNormOp> norms;
    function.walk([&](train::BatchNormOp op) { norms.push_back(op); });
    for (train::BatchNormOp op : norms)
      if (evaluation)
        useRunningStatistics(op);
      else
        keepRunningStatistics(op);
    const auto count = static_cast<int64_t>(norms.size());
    if (evaluation)
      addStatistic("norms in evaluation", count);
    else
      addStatistic("buffers updated", 2 * count);
  }

  /// Running statistics pass through unchanged.
  static void useRunningStatistics(train::BatchNormOp op) {
    PlacedBuilder builder(op);
    Value y = onnx::BatchNormalizationOp::create(builder, op.getLoc(), op.getX(), op.getScale(), op.getB(),
                                                 op.getInputMean(), op.getInputVar(),
                                                 builder.getF32FloatAttr(op.getEpsilon().convertToFloat()));
    op.getY().replaceAllUsesWith(y);
    op.getRunningMean().replaceAllUsesWith(op.getInputMean());
    op.getRunningVar().replaceAllUsesWith(op.getInputVar());
    op.erase();
  }

  void keepRunningStatistics(train::BatchNormOp op) {
    keep(op.getInputMean(), op.getRunningMean());
    keep(op.getInputVar(), op.getRunningVar());
  }

  /// A file may hold statistics in another type than its norm takes.
  static Value withoutCasts(Value value) {
    while (auto cast = value.getDefiningOp<onnx::CastOp>())
      value = cast.getX();
    return value;
  }

  Value castLike(Value value, Value like, Operation *before = nullptr) {
    if (value.getType() == like.getType())
      return value;
    PlacedBuilder builder(before ? before : returnOf(getOperation()), placeOfProducer(value));
    return onnx::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(elementOf(like)));
  }

  /// The state that `before` is takes the value of `after`; a norm that is applied twice updates it once
  /// more.
  void keep(Value before, Value after) {
    func::FuncOp function = getOperation();
    auto argument = dyn_cast<BlockArgument>(withoutCasts(before));
    auto state = argument ? train::stateOfArgument(function, argument.getArgNumber()) : FlatSymbolRefAttr();
    if (!state)
      return;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (train::stateOfResult(function, index) == state) {
        // The second use of a shared norm starts from what the first one left.
        Value first = returnOf(function)->getOperand(index);
        after.getDefiningOp()->replaceUsesOfWith(before, castLike(first, before, after.getDefiningOp()));
        return returnOf(function)->setOperand(index, castLike(after, argument));
      }
    addResult(function, castLike(after, argument), train::BindingKind::State, state.getValue());
  }
};
} // namespace
} // namespace kedge::autodiff
