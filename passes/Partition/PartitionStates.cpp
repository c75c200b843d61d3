#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Partition/BlockUpdates.h"
#include "passes/Partition/PartAlgebra.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_PARTITIONSTATES
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;
using train::Role;

struct PartitionStates : impl::PartitionStatesBase<PartitionStates> {
  using Base::Base;
  DenseSet<StringAttr> mastered; ///< parameters with a working copy
  DenseSet<StringAttr> sharded, updatedInParts;
  std::optional<SymbolTable> symbols;
  DenseSet<StringAttr> inBlocks; ///< of moments in 8 bits, which are cut between blocks

  void run() override {
    const dist::RankGroup group = dist::dataGroup(getOperation());
    if (stage < 0 || stage > 3 || persistBytes < 0) {
      getOperation().emitError() << "stage " << stage.getValue() << " over " << group.ranks
                                 << " ranks, persist-bytes = " << persistBytes.getValue()
                                 << ": expected a stage from 0 to 3, and bytes that are not negative";
      return signalPassFailure();
    }
    if (group.isAlone() || stage == 0)
      return;
    getOperation()->setAttr(dist::stageName, Builder(&getContext()).getI64IntegerAttr(stage));
    for (auto function : getOperation().getOps<func::FuncOp>())
      inBlocks.insert_range(statesInBlocks(function, group.ranks));
    symbols.emplace(getOperation());
    shardStates();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        rewrite(function);
    RewritePatternSet patterns(&getContext());
    int64_t onParts = 0;
    populatePartAlgebra(patterns, onParts);
    populateBlockUpdates(patterns, onParts);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (onParts > 0)
      addStatistic("ops on parts", onParts);
  }

  void shardStates() {
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == Role::WorkingCopy)
        mastered.insert(state.getOfAttr().getAttr());
    for (auto state : getOperation().getOps<train::StateOp>()) {
      if (cast<RankedTensorType>(state.getType()).getRank() == 0 || groupOf(state).isAlone())
        continue;
      if (isSharded(state))
        shard(state);
      else if (state.getRole() == Role::Parameter || state.getRole() == Role::WorkingCopy)
        updatedInParts.insert(state.getSymNameAttr());
    }
  }

  bool isSharded(train::StateOp state) {
    if (inBlocks.contains(state.getSymNameAttr()))
      return true;
    // Other moments in 8 bits belong to a tensor that is updated as one.
    if (cast<RankedTensorType>(state.getType()).getElementType().isInteger(8) &&
        state.getRole() != Role::Residual && !tune::encodingOf(state))
      return false;
    bool whole = stage < 3 || bytesOf(state.getType()) <= persistBytes;
    switch (state.getRole()) {
    case Role::Moment1:
    case Role::Moment2:
    case Role::Momentum:
    case Role::Average:
    case Role::Residual:
      return true;
    case Role::Accumulator:
      return stage >= 2 && dist::partsOf(getOperation()) == 0;
    case Role::Parameter:
      return !whole || mastered.contains(state.getSymNameAttr());
    case Role::Frozen:
    case Role::WorkingCopy:
      return !whole;
    case Role::State:
      return hasAnElementEach(state);
    default:
      return false;
    }
  }

  /// Whether the state is of a parameter's shape: the update is elementwise in it.
  bool hasAnElementEach(train::StateOp state) {
    auto of =
        state.getOfAttr() ? symbols->lookup<train::StateOp>(state.getOfAttr().getAttr()) : train::StateOp();
    return of && of.getRole() == Role::Parameter && of.wholeType() == state.wholeType();
  }

  void shard(train::StateOp state) {
    auto whole = cast<RankedTensorType>(state.getType());
    const dist::RankGroup group = groupOf(state);
    RankedTensorType part = dist::localShardOf(whole, group.ranks);
    state.setType(part);
    auto box = state.getSharding();
    state.setShardingAttr(dist::ShardingAttr::get(&getContext(), box ? box->getShape() : whole.getShape(),
                                                  box ? box->getCuts() : ArrayRef<dist::CutAttr>(),
                                                  group.axis, group.ranks));
    sharded.insert(state.getSymNameAttr());
    addStatistic("states sharded", 1);
    addStatistic("bytes saved", bytesOf(whole) - bytesOf(part));
  }

  /// Whose ranks have its parts.
  dist::RankGroup groupOf(train::StateOp state) {
    return dist::partGroup(getOperation(), state.getShardingAttr());
  }
  dist::RankGroup groupOf(StringAttr state) { return groupOf(symbols->lookup<train::StateOp>(state)); }

  void rewrite(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber());
          state && sharded.contains(state.getAttr()))
        gather(argument, state);
    Block &block = function.getBody().front();
    for (OpOperand &returned : block.getTerminator()->getOpOperands())
      if (auto state = train::stateOfResult(function, returned.getOperandNumber()))
        giveParts(returned, state.getAttr());
    function.setFunctionType(
        FunctionType::get(&getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }

  PlaceAttr updateOf(StringAttr state) {
    return PlaceAttr::get(&getContext(), TrainingPhase::Update, "",
                          symbols->lookup<train::StateOp>(state).getOnnxName().value_or(state.getValue()));
  }

  /// The function takes the part; who reads the whole finds it gathered.
  void gather(BlockArgument argument, FlatSymbolRefAttr state) {
    Type whole = argument.getType();
    const dist::RankGroup group = groupOf(state.getAttr());
    argument.setType(dist::localShardOf(whole, group.ranks));
    if (argument.use_empty())
      return;
    Operation *first = *argument.user_begin();
    for (Operation *user : argument.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    PlaceAttr place = placeOf(first);
    PlacedBuilder builder(first, place ? place : updateOf(state.getAttr()));
    auto gathered = dist::AllGatherOp::create(builder, NameLoc::get(state.getAttr()), whole, argument, group);
    argument.replaceAllUsesExcept(gathered.getResult(0), gathered);
  }

  void giveParts(OpOperand &returned, StringAttr state) {
    bool isPart = sharded.contains(state);
    if (!isPart && !updatedInParts.contains(state))
      return;
    Value value = returned.get();
    const dist::RankGroup group = groupOf(state);
    PlacedBuilder builder(returned.getOwner(), updateOf(state));
    Value part = dist::LocalShardOp::create(builder, value.getLoc(), value, group).getResult(0);
    returned.set(
        isPart
            ? part
            : dist::AllGatherOp::create(builder, value.getLoc(), value.getType(), part, group).getResult(0));
  }
};
} // namespace
} // namespace kedge::partition
