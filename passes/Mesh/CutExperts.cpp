#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Mesh/Experts/ExpertDim.h"
#include "passes/Mesh/Experts/ExpertRows.h"
#include "passes/Mesh/Experts/ExpertStates.h"
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
    Block &block = function_.getBody().front();
    eraseUnused(); // a reader that nobody reads wants no rows
    takeParts();
    if (failed(findGradients()))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (failed(rewrite(op)))
        return failure();
    eraseUnused();
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
  /// What a rank has of states, and what follows from that alone.
  void takeParts() {
    for (BlockArgument argument : function_.getArguments())
      if (const ExpertDim *at = states_.dimOf(argument))
        argument.setType(at->partOf(argument.getType(), group_));
    for (Operation &op : function_.getBody().front().without_terminator())
      if (const ExpertDim *at = op.getNumResults() == 1 ? states_.dimOf(op.getResult(0)) : nullptr) {
        takeFromWholes(op, *at);
        makePart(&op, *at, group_);
      }
  }

  /// Of operands that are whole on every rank.
  void takeFromWholes(Operation &op, ExpertDim at) {
    for (OpOperand &operand : op.getOpOperands())
      if (const auto need = needOf(operand, at, group_); need && need->kind == ExpertNeed::PartOfWhole) {
        PlacedBuilder builder(&op);
        operand.set(dist::LocalShardOp::create(builder, op.getLoc(), operand.get(), group_).getResult(0));
      }
  }

  /// The ops that make the gradients of what is cut.
  LogicalResult findGradients() {
    for (OpOperand &returned : function_.getBody().front().getTerminator()->getOpOperands())
      if (auto gradient =
              train::bindingOfResult(function_, returned.getOperandNumber(), train::BindingKind::Gradient))
        if (const ExpertDim *at = states_.dimOf(StringAttr::get(function_.getContext(), gradient.getName()));
            at && failed(findGradient(returned.get(), *at)))
          return failure();
    return success();
  }

  LogicalResult findGradient(Value value, ExpertDim at) {
    Operation *op = value.getDefiningOp();
    if (op && at.isPlain() && isa<train::GroupedMatmulGradOp, train::GatherGradOp>(op)) {
      gradients_.insert(op);
      return success();
    }
    const bool follows = op && (isa<ReshapeOp, TransposeOp>(op) || op->hasTrait<ComputesEachElement>());
    for (OpOperand &operand : op ? op->getOpOperands() : MutableArrayRef<OpOperand>()) {
      const auto need = follows ? needOf(operand, at, group_) : std::nullopt;
      if (!need || (need->kind == ExpertNeed::Part && failed(findGradient(operand.get(), need->at))))
        return need ? failure() : refuse(value);
    }
    if (!follows)
      return refuse(value);
    parts_.try_emplace(op, at);
    return success();
  }

  LogicalResult refuse(Value gradient) {
    return emitError(gradient.getLoc(),
                     "the gradient of experts is made in a way that is not available yet along "
                     "'expert'; expected a grouped product or a gather");
  }

  LogicalResult rewrite(Operation &op) {
    if (auto product = dyn_cast<train::GroupedMatmulOp>(op); product && states_.dimOf(product.getW()))
      return multiply(product);
    if (auto gather = dyn_cast<GatherOp>(op); gather && isOfRows(gather))
      return pick(gather);
    if (auto at = parts_.find(&op); at != parts_.end())
      makePart(&op, at->second, group_);
    if (!gradients_.contains(&op))
      return joinCombined(op), success();
    if (auto product = dyn_cast<train::GroupedMatmulGradOp>(op))
      return sumProducts(product);
    return sumRows(cast<train::GatherGradOp>(op));
  }

  LogicalResult multiply(train::GroupedMatmulOp product) {
    ExpertRows &rows = rowsOf(product, product.getExperts());
    PlacedBuilder builder(product);
    Value x = rows.local(builder, product.getX(), shapeOf(product.getExperts())[1]);
    auto made = train::GroupedMatmulOp::create(builder, product.getLoc(), x, rows.experts(), product.getW(),
                                               product.getTransB(), /*skips=*/true, rows.expected(),
                                               DenseF64ArrayAttr());
    rows.replace(builder, product.getY(), made);
    return success();
  }

  /// What comes back to the ranks of tokens for one reader alone, maybe scaled on the way.
  dist::CombineOp combinedFor(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse() || isa<dist::CombineOp>(op))
      return dyn_cast_or_null<dist::CombineOp>(value.hasOneUse() ? op : nullptr);
    const auto isScalar = [](Value operand) { return elementCount(shapeOf(operand)) == 1; };
    const bool keepsRows =
        isa<ReshapeOp>(op) || (op->getNumResults() == 1 && op->hasTrait<ComputesEachElement>() &&
                               llvm::all_of(llvm::drop_begin(op->getOperands()), isScalar));
    return keepsRows ? combinedFor(op->getOperand(0)) : dist::CombineOp();
  }

  /// An op that joins several tensors of rows joins them where they are: one goes back in their place.
  void joinCombined(Operation &op) {
    if (op.getNumOperands() != 2 || op.getNumResults() != 1 || !op.hasTrait<ComputesEachElement>())
      return;
    if (auto sum = dyn_cast<AddOp>(op); sum && sumLater(sum))
      return;
    auto first = combinedFor(op.getOperand(0)), second = combinedFor(op.getOperand(1));
    if (!first || !second || first == second || first.getExperts() != second.getExperts())
      return;
    ExpertRows &rows = *rows_.at(first.getExperts());
    if (!rows.isLocal(op.getResult(0)))
      return;
    PlacedBuilder builder(&op);
    Value made = rows.local(builder, op.getResult(0), 1);
    rows.replace(builder, op.getResult(0), made);
  }

  /// Sums over the places of a token are added before they are summed; the ops at hand are gone then.
  bool sumLater(AddOp sum) {
    auto first = sum.getA().getDefiningOp<ReduceSumOp>(), second = sum.getB().getDefiningOp<ReduceSumOp>();
    if (!first || !second || first == second || !first->hasOneUse() || !second->hasOneUse() ||
        first.getAxes() != second.getAxes() || first.getKeepdims() != second.getKeepdims() ||
        first.getX().getType() != second.getX().getType() || !combinedFor(first.getX()) ||
        !combinedFor(second.getX()))
      return false;
    PlacedBuilder builder(sum);
    auto all = AddOp::create(builder, sum.getLoc(), first.getX(), second.getX());
    auto later = ReduceSumOp::create(builder, sum.getLoc(), all, first.getAxes(), first.getKeepdims());
    copyValueNotes(sum, later);
    sum.getResult().replaceAllUsesWith(later.getResult());
    for (Operation *op : {sum.getOperation(), first.getOperation(), second.getOperation()})
      op->erase();
    joinCombined(*all);
    return true;
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
                                                   /*skips=*/true, rows.expected(), DenseF64ArrayAttr());
    product.getDW().replaceAllUsesWith(made.getDW());
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
    gradient.getDX().replaceAllUsesWith(made.getDX());
    return success();
  }

  /// Not a table's of codes.
  bool isOfRows(GatherOp gather) {
    return states_.dimOf(gather.getData()) && !states_.dimOf(gather.getOutput());
  }

  /// The rows of one choice of experts; their counts are exchanged in front of the first op that needs them.
  ExpertRows &rowsOf(Operation *op, Value chosen) {
    Value root = ExpertRows::rootOf(chosen);
    std::unique_ptr<ExpertRows> &found = rows_[root];
    if (!found)
      found = std::make_unique<ExpertRows>(op, root, states_.expertsOf(root), capacity_, group_);
    return *found;
  }

  void eraseUnused() {
    IRRewriter rewriter(function_);
    std::ignore = runRegionDCE(rewriter, function_.getBody());
  }

  func::FuncOp function_;
  const ExpertStates &states_;
  double capacity_;
  dist::RankGroup group_;
  DenseSet<Operation *> gradients_;        ///< that make those of this rank's experts
  DenseMap<Operation *, ExpertDim> parts_; ///< that follow from them
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
      const int64_t before = bytesOf(state.getType());
      states.cut(state);
      addStatistic("bytes saved", before - bytesOf(state.getType()));
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
