#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Mesh/GivenCut.h"
#include "passes/Mesh/LayoutWalk.h"
#include "passes/Mesh/LostSpecs.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

struct PropagateShardings : impl::PropagateShardingsBase<PropagateShardings> {
  using Base::Base;
  dist::RankGroup group;
  StateLayouts states;
  DenseMap<StringAttr, int> givenDims;

  void run() override {
    group = tensorGroup(getOperation());
    if (group.isAlone())
      return;
    states.clear();
    Annotations annotations(getOperation());
    for (auto state : getOperation().getOps<train::StateOp>())
      if (cast<RankedTensorType>(state.getType()).getRank() == 0)
        states[state.getSymNameAttr()] = Layout();
      else if (std::optional<Layout> layout = annotations.ofState(state))
        states[state.getSymNameAttr()] = *layout;
    if (failed(addGiven()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(settle(function, annotations)))
        return signalPassFailure();
    for (auto state : getOperation().getOps<train::StateOp>())
      note(state);
  }

  /// Dimensions of states that the option `shard` names.
  LogicalResult addGiven() {
    for (const GivenCut &given : shard) {
      bool isFound = false;
      for (auto state : getOperation().getOps<train::StateOp>()) {
        if (!given.isOf(state))
          continue;
        isFound = true;
        if (failed(given.check(state)))
          return failure();
        givenDims[state.getSymNameAttr()] = given.dim;
      }
      if (!isFound)
        return getOperation().emitError() << "--shard " << given.text() << ": no parameter has such a name";
    }
    return success();
  }

  /// Dimensions that were given, in blocks as readers of the tensor have them.
  void cutGiven(func::FuncOp function, Walk &walk) {
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        if (auto given = givenDims.find(state.getAttr()); given != givenDims.end())
          states.try_emplace(state.getAttr(), Layout(given->second, walk.blocksFor(argument, given->second)));
  }

  /// The first way decides about states, the second finds them decided, the third knows which whole values
  /// are read in blocks.
  LogicalResult settle(func::FuncOp function, Annotations &annotations) {
    annotations.enter(function);
    if (annotations.given() && isTraining(function))
      reportLostSpecs(function, annotations);
    Walk first(function, states, annotations, group, sequenceParallel);
    cutGiven(function, first);
    first.run();
    if (first.isBroken)
      return failure();
    cutTables(first);
    keepWhole(function, [&](StringAttr state) { return !first.isOfTable(state); });
    Walk second(function, states, annotations, group, sequenceParallel),
        third(function, states, annotations, group, sequenceParallel);
    second.run();
    keepWhole(function, [](StringAttr) { return true; }); // moments of tables follow in the second
    third.sliced = second.slices();
    third.run();
    if (second.isBroken)
      return failure();
    third.pullBack();
    for (auto [op, cut] : third.choices)
      op->setAttr(dist::cutName, attributeOf(cut, ruleOf(op, group.ranks), group));
    for (auto [op, layout] : third.scatters)
      op->setAttr(dist::scatterName, attributeOf(layout, group));
    addStatistic("ops cut", static_cast<int64_t>(third.choices.size()));
    addStatistic("sums scattered", static_cast<int64_t>(third.scatters.size()));
    addStatistic("products whole", static_cast<int64_t>(first.wholeMatmuls.size()));
    for (Operation *product : first.wholeMatmuls)
      product->emitRemark()
          << "is computed whole on each of " << group.ranks
          << " ranks: no dimension of its weight is cut into blocks that what follows can use; "
          << bytesOf(product->getOperand(1).getType()) << " bytes of weight on each";
    return success();
  }

  static bool isTraining(func::FuncOp function) {
    auto kind = train::kindOf(function);
    return kind == train::FunctionKind::Step || kind == train::FunctionKind::Micro;
  }

  /// Tables of embeddings that nothing else decides about, with their working copies and the sums of their
  /// gradients.
  void cutTables(const Walk &walk) {
    for (StringAttr table : walk.tables)
      states.try_emplace(table, layoutOfTable(table));
    for (auto state : getOperation().getOps<train::StateOp>())
      if (llvm::is_contained({train::Role::WorkingCopy, train::Role::Accumulator}, state.getRole()) &&
          walk.isOfTable(state.getSymNameAttr()))
        states.try_emplace(state.getSymNameAttr(), states.lookup(state.getOfAttr().getAttr()));
  }

  void keepWhole(func::FuncOp function, llvm::function_ref<bool(StringAttr)> isWhole) {
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        if (isWhole(state.getAttr()))
          states.try_emplace(state.getAttr());
  }

  Layout layoutOfTable(StringAttr name) {
    auto state = getOperation().lookupSymbol<train::StateOp>(name);
    const int64_t rows = cast<RankedTensorType>(state.getType()).getDimSize(0);
    const bool isTrained = state.getRole() != train::Role::Constant;
    return isTrained && rows > 1 ? Layout(0, blocksOf(rows, group.ranks)) : Layout();
  }

  void note(train::StateOp state) {
    const Layout layout = states.lookup(state.getSymNameAttr());
    if (!layout.isCut())
      return;
    state->setAttr(dist::cutName, attributeOf(layout, group));
    addStatistic("states cut", 1);
    addStatistic("bytes saved",
                 bytesOf(state.getType()) - bytesOf(blockOf(state.getType(), layout, group.ranks)));
  }
};
} // namespace
} // namespace kedge::mesh
