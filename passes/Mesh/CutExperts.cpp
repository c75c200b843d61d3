#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Mesh/ExpertRows.h"
#include "passes/Mesh/ExpertStates.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_CUTEXPERTS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

/// Rewrites a function: what reads or makes experts' tensors does so on the rows that came to this rank.
class ExpertRewrite {
public:
  ExpertRewrite(func::FuncOp function, const ExpertStates &states, double capacity, dist::RankGroup group)
      : function_(function), states_(states), capacity_(capacity), group_(group) {}

  LogicalResult run() {
    takeParts();
    if (failed(findGradients()))
      return failure();
    Block &block = function_.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (failed(rewrite(op)))
        return failure();
    eraseUnused(block);
    function_.setFunctionType(FunctionType::get(function_.getContext(), block.getArgumentTypes(),
                                                block.getTerminator()->getOperandTypes()));
    return success();
  }

  int64_t dispatches() {
    int64_t count = 0;
    function_.walk([&](dist::DispatchOp) { ++count; });
    return count;
  }

private:
  void takeParts() {
    for (BlockArgument argument : function_.getArguments())
      if (auto state = train::stateOfArgument(function_, argument.getArgNumber());
          state && states_.isCut(state.getAttr())) {
        argument.setType(states_.partOf(argument.getType()));
        takePart(argument);
      }
  }

  /// What is computed element by element of a part is one.
  void takePart(Value part) {
    parts_.insert(part);
    for (Operation *user : part.getUsers())
      if (user->hasTrait<ComputesEachElement>())
        for (Value result : user->getResults())
          if (parts_.insert(result).second) {
            result.setType(tensorType(part).clone(elementOf(result)));
            takePart(result);
          }
  }

  /// The ops that make the gradients of what is cut.
  LogicalResult findGradients() {
    for (OpOperand &returned : function_.getBody().front().getTerminator()->getOpOperands())
      if (auto gradient =
              train::bindingOfResult(function_, returned.getOperandNumber(), train::BindingKind::Gradient);
          gradient && states_.isCut(StringAttr::get(function_.getContext(), gradient.getName())) &&
          failed(findGradient(returned.get())))
        return failure();
    return success();
  }

  LogicalResult findGradient(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && isa<train::GroupedMatmulGradOp, train::GatherGradOp>(op)) {
      gradients_.insert(op);
      return success();
    }
    if (!op || !op->hasTrait<ComputesEachElement>())
      return emitError(value.getLoc(),
                       "the gradient of experts is made in a way that is not available yet along "
                       "'expert'; expected a grouped product or a gather");
    for (Value operand : op->getOperands())
      if (shapeOf(operand) == shapeOf(value) && failed(findGradient(operand)))
        return failure();
    return success();
  }

  LogicalResult rewrite(Operation &op) {
    if (auto product = dyn_cast<train::GroupedMatmulOp>(op); product && parts_.contains(product.getW()))
      return multiply(product);
    if (auto gather = dyn_cast<GatherOp>(op); gather && parts_.contains(gather.getData()))
      return pick(gather);
    if (!gradients_.contains(&op))
      return success();
    if (auto product = dyn_cast<train::GroupedMatmulGradOp>(op))
      return sumProducts(product);
    return sumRows(cast<train::GatherGradOp>(op));
  }

  LogicalResult multiply(train::GroupedMatmulOp product) {
    ExpertRows &rows = rowsOf(product, product.getExperts());
    PlacedBuilder builder(product);
    Value x = rows.local(builder, product.getX(), shapeOf(product.getExperts())[1]);
    auto made = train::GroupedMatmulOp::create(builder, product.getLoc(), x, rows.experts(), product.getW(),
                                               product.getTransB(), /*skips=*/true, rows.expected());
    rows.replace(builder, product.getY(), made);
    return success();
  }

  LogicalResult sumProducts(train::GroupedMatmulGradOp product) {
    ExpertRows &rows = rowsOf(product, product.getExperts());
    PlacedBuilder builder(product);
    Value x = rows.local(builder, product.getX(), shapeOf(product.getExperts())[1]),
          dY = rows.local(builder, product.getDY(), 1);
    dY = builder.createOrFold<ReshapeOp>(
        product.getLoc(), dY, ArrayRef<int64_t>{rows.capacity(), 1, shapeOf(product.getDY()).back()});
    auto made = train::GroupedMatmulGradOp::create(builder, product.getLoc(), x, rows.experts(), dY,
                                                   product.getCount() / group_.ranks, product.getTransB(),
                                                   /*skips=*/true, rows.expected());
    replacePart(product.getDW(), made.getDW());
    return success();
  }

  /// Of a bias for each expert.
  LogicalResult pick(GatherOp gather) {
    ExpertRows &rows = rowsOf(gather, gather.getIndices());
    PlacedBuilder builder(gather);
    Value made = GatherOp::create(builder, gather.getLoc(), gather.getData(), rows.someExperts(builder),
                                  builder.getI64IntegerAttr(0), IntegerAttr());
    rows.replace(builder, gather.getOutput(), made);
    return success();
  }

  LogicalResult sumRows(train::GatherGradOp gradient) {
    ExpertRows &rows = rowsOf(gradient, gradient.getIndices());
    PlacedBuilder builder(gradient);
    SmallVector<int64_t> shape(gradient.getShape());
    shape[0] /= group_.ranks;
    SmallVector<int64_t> ofRows(shape);
    ofRows[0] = rows.capacity();
    ofRows.insert(ofRows.begin() + 1, 1);
    Value dY = builder.createOrFold<ReshapeOp>(gradient.getLoc(), rows.local(builder, gradient.getDY(), 1),
                                               ArrayRef<int64_t>(ofRows));
    auto made = train::GatherGradOp::create(builder, gradient.getLoc(), dY, rows.someExperts(builder),
                                            builder.getI64IntegerAttr(0), IntegerAttr(),
                                            builder.getDenseI64ArrayAttr(shape));
    replacePart(gradient.getDX(), made.getDX());
    return success();
  }

  void replacePart(Value whole, Value part) {
    whole.replaceAllUsesWith(part);
    takePart(part);
  }

  /// The rows of one choice of experts; their counts are exchanged in front of the first op that needs them.
  ExpertRows &rowsOf(Operation *op, Value chosen) {
    Value root = ExpertRows::rootOf(chosen);
    std::unique_ptr<ExpertRows> &found = rows_[root];
    if (!found)
      found = std::make_unique<ExpertRows>(op, root, states_.expertsOf(root), capacity_, group_);
    return *found;
  }

  static void eraseUnused(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }

  func::FuncOp function_;
  const ExpertStates &states_;
  double capacity_;
  dist::RankGroup group_;
  DenseSet<Value> parts_;           ///< of this rank's experts
  DenseSet<Operation *> gradients_; ///< that make them
  DenseMap<Value, std::unique_ptr<ExpertRows>> rows_;
};

struct CutExperts : impl::CutExpertsBase<CutExperts> {
  using Base::Base;

  void run() override {
    const dist::RankGroup group = dist::expertGroup(getOperation());
    if (group.isAlone())
      return;
    if (capacity < 0) {
      getOperation().emitError() << "capacity = " << capacity.getValue()
                                 << ": expected a number that is not negative";
      return signalPassFailure();
    }
    ExpertStates states(getOperation(), group);
    if (failed(states.check()))
      return signalPassFailure();
    for (train::StateOp state : states.cut()) {
      addStatistic("states cut", 1);
      addStatistic("bytes saved", bytesOf(state.getType()) - bytesOf(states.partOf(state.getType())));
      states.cut(state);
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      ExpertRewrite rewrite(function, states, capacity, group);
      if (failed(rewrite.run()))
        return signalPassFailure();
      addStatistic("dispatches", rewrite.dispatches());
    }
  }
};
} // namespace
} // namespace kedge::mesh
