#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "passes/Mesh/Blocks.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_SUMONCE
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// A summand of a sum along `tensor` that nothing else reads.
struct TensorSum {
  Value partial;
  dist::RankGroup group;
};

template <typename OpT> OpT alongTensor(Value value) {
  auto op = value.hasOneUse() ? value.getDefiningOp<OpT>() : OpT();
  return op && op.getInputs().size() == 1 && op.group().axis.getValue() == dist::tensorAxis ? op : OpT();
}

Value behindCast(Value value) {
  auto cast = value.hasOneUse() ? value.getDefiningOp<onnx::CastOp>() : onnx::CastOp();
  return cast ? cast.getOperand() : value;
}

/// As BlockBuilder::sum makes it: a small one by an op, a large one by two.
std::optional<TensorSum> sumOf(Value value) {
  value = behindCast(value);
  if (auto all = alongTensor<dist::AllReduceOp>(value);
      all && all.getKind() == dist::ReduceKind::Sum && !all.getOrderAttr())
    return TensorSum{all.getInputs().front(), all.group()};
  if (auto gather = alongTensor<dist::AllGatherOp>(value))
    if (auto parts = alongTensor<dist::ReduceScatterOp>(behindCast(gather.getInputs().front()));
        parts && !parts.getOrderAttr() && shapeOf(parts.getInputs().front()) == shapeOf(value))
      return TensorSum{parts.getInputs().front(), parts.group()};
  return std::nullopt;
}

/// The sum that becomes the gradient that is added: through what a rank keeps of it for those along other
/// axes, and through rows of a table, which are sums of rows. Each such value takes the type of the summand.
struct Gradient {
  OpOperand *sum;
  SmallVector<Value> made;

  explicit Gradient(train::AccumulateOp add) : sum(&add.getGradientMutable()) {
    if (auto parts = producerOf<dist::ReduceScatterOp>();
        parts && parts.group().axis.getValue() != dist::tensorAxis)
      enter(parts->getOpOperand(cast<OpResult>(sum->get()).getResultNumber()));
    if (auto rows = producerOf<train::GatherGradOp>())
      enter(rows->getOpOperand(0));
  }

private:
  template <typename OpT> OpT producerOf() const {
    return sum->get().hasOneUse() ? sum->get().getDefiningOp<OpT>() : OpT();
  }

  void enter(OpOperand &operand) {
    made.push_back(sum->get());
    sum = &operand;
  }
};

struct SumOnce : impl::SumOnceBase<SumOnce> {
  void run() override {
    int64_t delayed = 0;
    func::FuncOp micro = train::functionOf(getOperation(), train::FunctionKind::Micro),
                 update = train::functionOf(getOperation(), train::FunctionKind::Update);
    if (micro && update)
      for (auto add : llvm::to_vector(micro.getOps<train::AccumulateOp>()))
        delayed += delay(micro, update, add);
    addStatistic("gradients", delayed);
  }

  bool delay(func::FuncOp micro, func::FuncOp update, train::AccumulateOp add) {
    auto accumulator = dyn_cast<BlockArgument>(add.getAccumulator());
    // Sums so far that are narrower would be rounded by each rank.
    if (!accumulator || elementOf(accumulator).getIntOrFloatBitWidth() < 32)
      return false;
    Gradient gradient(add);
    const std::optional<TensorSum> sum = sumOf(gradient.sum->get());
    BlockArgument reader = argumentOf(update, train::stateOfArgument(micro, accumulator.getArgNumber()));
    if (!sum || !reader || reader.use_empty())
      return false;
    for (Value value : gradient.made)
      value.setType(tensorType(value).clone(elementOf(sum->partial)));
    Value before = gradient.sum->get();
    gradient.sum->set(sum->partial);
    eraseUnread(before);
    PlacedBuilder builder(&update.getBody().front().front(), placeOf(*reader.user_begin()));
    BlockBuilder build(builder, add.getLoc(), sum->group);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : reader.getUses())
      uses.push_back(&use);
    Value all = build.sum(reader, elementOf(reader));
    for (OpOperand *use : uses)
      use->set(all);
    return true;
  }

  static BlockArgument argumentOf(func::FuncOp function, FlatSymbolRefAttr state) {
    for (BlockArgument argument : function.getArguments())
      if (state && train::stateOfArgument(function, argument.getArgNumber()) == state)
        return argument;
    return {};
  }

  static void eraseUnread(Value value) {
    while (Operation *op = value.use_empty() ? value.getDefiningOp() : nullptr) {
      value = op->getOperand(0);
      op->erase();
    }
  }
};

} // namespace
} // namespace kedge::mesh
