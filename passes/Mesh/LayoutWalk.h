// How a function's values are cut, found in the order of its ops: the working of kedge-propagate-shardings.
#pragma once
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Mesh/Annotations.h"
#include "passes/Mesh/Demand.h"
#include "passes/Mesh/Layout.h"
#include "passes/Mesh/ParameterLayouts.h"

namespace kedge::mesh {
using namespace mlir;

/// One way through a function, in the order of its ops.
class Walk {
public:
  Walk(func::FuncOp function, StateLayouts &states, const Annotations &annotations, dist::RankGroup group,
       bool sequenceParallel)
      : function(function), states(states), annotations(annotations), group(group),
        sequenceParallel(sequenceParallel && !annotations.given()), sameBits(dist::partsOf(function) > 0),
        parameters(function, states) {
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        stateOf[argument] = state.getAttr();
  }

  void run() {
    for (Operation &op : function.getBody().front().without_terminator())
      if (op.getNumResults() > 0 && op.getNumOperands() > 0)
        decide(op);
  }

  /// An op of whole tensors whose result is read in blocks alone makes but the block: the gradient of a
  /// table.
  void pullBack() {
    for (Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
      if (choices.contains(&op) || op.getNumResults() != 1 || op.getNumOperands() == 0)
        continue;
      const Layout wanted = wantedBy(op.getResult(0));
      const ShardingRule rule = wanted.isCut() ? ruleOf(&op, group.ranks) : ShardingRule();
      if (rule.loops.empty() || rule.results[0][wanted.dim] == ShardingRule::kWhole)
        continue;
      const int loop = rule.results[0][wanted.dim];
      if (!rule.loops[loop].sections.empty())
        continue;
      const std::optional<CutLoop> cut = cutUnder(rule, loop, wanted, op.getResult(0).getType(), group.ranks);
      if (cut && isFree(op, rule, *cut) && isPossible(op, rule, *cut))
        choices[&op] = *cut;
    }
  }

  /// The blocks of a state's dimension, as the forward ops that read it want them.
  ShardBlocks blocksFor(Value state, int dim) {
    const int64_t size = cast<RankedTensorType>(state.getType()).getDimSize(dim);
    for (OpOperand &use : state.getUses()) {
      Operation *user = use.getOwner();
      if (!isForward(user))
        continue;
      const ShardingRule rule = ruleOf(user, group.ranks);
      const int loop = rule.loops.empty() ? ShardingRule::kWhole : rule.operands[use.getOperandNumber()][dim];
      Demand demand;
      if (loop == ShardingRule::kWhole || rule.loops[loop].reduced)
        continue;
      for (auto [result, dims] : llvm::zip(user->getResults(), rule.results))
        if (const int next = ShardingRule::dimOf(dims, loop); next != ShardingRule::kWhole)
          (void)canGoOn(result, next, demand, 0);
      return demand.blocksOf(size, group.ranks);
    }
    return blocksOf(size, group.ranks);
  }

  DenseMap<Operation *, CutLoop> choices;
  DenseMap<Operation *, Layout> scatters; ///< of results that are sums: each rank keeps its block of the sum
  DenseMap<Value, Layout> sliced;         ///< whole values, of which cut ops may read blocks
  SmallVector<Operation *> wholeMatmuls;  ///< with a parameter that could not be cut
  llvm::SetVector<StringAttr> tables;     ///< of embeddings, not decided yet: the parameters
  bool isBroken = false;                  ///< an annotation cannot be followed, which has been reported

  /// A table of `tables`, its working copy or its moments.
  bool isOfTable(StringAttr state) const { return tables.contains(parameters.parameterOf(state)); }

  /// Whole values that cut ops of the residual stream read blocks of: others may, too, and send nothing for
  /// it.
  DenseMap<Value, Layout> slices() {
    DenseMap<Value, Layout> found;
    for (auto &[op, cut] : choices) {
      if (!isForward(op) ||
          llvm::none_of(op->getResults(), [&](Value result) { return scattered.contains(result); }))
        continue;
      const ShardingRule rule = ruleOf(op, group.ranks);
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        if (Layout layout = layoutOfOperand(op, rule, cut, i, group.ranks);
            layout.isCut() && !layoutOf(operand).isCut() && operand.getDefiningOp())
          found[operand] = layout;
    }
    return found;
  }

private:
  func::FuncOp function;
  StateLayouts &states;
  const Annotations &annotations;
  dist::RankGroup group;
  bool sequenceParallel, sameBits;
  ParameterLayouts parameters;
  DenseMap<Value, StringAttr> stateOf; ///< what a value is, or is a cast of
  DenseSet<Value> scattered;           ///< blocks of sums over ranks, and what is computed from such blocks
  DenseMap<Value, Layout> layouts;     ///< of results; absent: whole
  DenseMap<Value, int> flat;           ///< parts along so many other axes of what is cut along this one

  /// As all readers take it; whole: they do not agree.
  Layout wantedBy(Value value) {
    std::optional<Layout> wanted;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      Layout own;
      if (auto found = choices.find(user); found != choices.end())
        own = layoutOfOperand(user, ruleOf(user, group.ranks), found->second, use.getOperandNumber(),
                              group.ranks);
      else if (auto gradient = dyn_cast<train::FinalGradientOp>(user))
        own = states.lookup(gradient.getParameterAttr().getAttr());
      else if (isa<dist::ReduceScatterOp, dist::AllReduceOp>(user)) // along another axis
        own = parameters.ofGradient(value);
      else if (auto state = user->hasTrait<OpTrait::IsTerminator>()
                                ? train::stateOfResult(function, use.getOperandNumber())
                                : FlatSymbolRefAttr())
        own = states.lookup(state.getAttr());
      if (wanted && !(own == *wanted))
        return {};
      wanted = own;
    }
    return wanted.value_or(Layout());
  }

  bool isOpen(Value value) const {
    auto found = stateOf.find(value);
    return found != stateOf.end() && !states.contains(found->second);
  }
  Layout layoutOf(Value value) const {
    if (auto found = stateOf.find(value); found != stateOf.end())
      return states.lookup(found->second);
    return layouts.lookup(value);
  }
  /// Whether the op can be computed on blocks that its whole operands have without sending anything.
  bool isFree(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
      if (llvm::is_contained(dims, cut.loop) && (!sequenceParallel || layoutOf(operand).isCut()))
        return false;
    return !rule.loops[cut.loop].reduced;
  }

  int64_t cost(Value value) const { // of gathering it
    const int64_t bytes = bytesOf(value.getType()) * (group.ranks - 1) / group.ranks;
    return stateOf.contains(value) ? bytes << 20 : bytes; // what is cut to save memory stays so
  }

  /// What other axes send: each tensor, or flat part of one, as it comes.
  void carry(Operation &op) {
    if (readsWhole(&op))
      return;
    for (auto [operand, result] : llvm::zip(op.getOperands(), op.getResults()))
      if (Layout layout = layoutOf(operand); layout.isCut()) {
        layouts[result] = layout;
        const int depth = flat.lookup(operand) +
                          (isa<dist::ReduceScatterOp, dist::LocalShardOp>(op) ? 1 : 0) -
                          (isa<dist::AllGatherOp>(op) ? 1 : 0);
        if (depth > 0)
          flat[result] = depth;
      }
  }

  void decide(Operation &op) {
    if (isa<dist::DistDialect>(op.getDialect()))
      return carry(op);
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return flat.contains(operand); }))
      return; // kedge-localize sums over parts, and refuses all else
    const bool anyCut = llvm::any_of(op.getOperands(), [&](Value operand) {
      return layoutOf(operand).isCut() || sliced.contains(operand);
    });
    const bool open = anyOpen(op);
    if (open && isa<train::RowMaximaOp>(op))
      return;                 // of a weight, wherever its blocks will be
    if (open && isCast(op)) { // is decided where it is read
      stateOf[op.getResult(0)] = stateOf[op.getOperand(0)];
      return;
    }
    if (annotations.speaksOf(&op))
      return follow(op);
    if (!anyCut && (!open || isUpdateOfTable(op)))
      return;
    const ShardingRule rule = ruleOf(&op, group.ranks);
    CutLoop cut;
    const bool decides = open && !annotations.given(); // else the file does
    if (decides && !rule.loops.empty() && isOnScattered(op))
      cut = seed(op, rule); // the residual stream is gathered in front of columns
    if (!cut.isCut() && !rule.loops.empty())
      cut = anyCut ? cheapest(op, rule) : CutLoop();
    if (decides && !cut.isCut() && !rule.loops.empty())
      cut = seed(op, rule);
    if (decides && isa<onnx::GatherOp>(op) && !cut.isCut() && isOpen(op.getOperand(0)) &&
        comesFromArgument(op.getOperand(1))) {
      tables.insert(parameters.parameterOf(stateOf[op.getOperand(0)]));
      return;
    }
    take(op, rule, cut, cut.isCut() ? scatterOf(op, rule, cut) : Layout());
  }

  /// The way that a table is read decides about it, not its update.
  bool isUpdateOfTable(Operation &op) const {
    return !isForward(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
      return !isOpen(operand) || isOfTable(stateOf.lookup(operand));
    });
  }

  /// As the op's node says; what it does not say is as cheap as can be.
  void follow(Operation &op) {
    const ShardingRule rule = ruleOf(&op, group.ranks);
    const FailureOr<Wish> wish =
        annotations.wishFor(&op, rule, group.ranks, [&](Value value) { return layoutOf(value); });
    if (failed(wish)) {
      isBroken = true;
      return;
    }
    const CutLoop cut = wish->loop ? *wish->loop : rule.loops.empty() ? CutLoop() : cheapest(op, rule);
    const std::optional<Layout> first = wish->results.empty() ? std::nullopt : wish->results[0];
    const bool scatters = cut.isCut() && rule.loops[cut.loop].reduced && op.getNumResults() == 1 && first &&
                          first->isCut() && first->sections.empty();
    take(op, rule, cut, scatters ? *first : Layout());
    sequenceParallel |= scatters; // and gradients go the same way
    for (auto [result, layout] : llvm::zip(op.getResults(), wish->results))
      if (layout && layout->isCut())
        layouts[result] = *layout;
      else if (layout)
        layouts.erase(result);
  }

  static bool isCast(Operation &op) {
    if (isa<train::Float8CastOp>(op)) // by a number
      return true;
    return op.getNumOperands() == 1 && op.getNumResults() == 1 && op.hasTrait<ComputesEachElement>();
  }

  void take(Operation &op, const ShardingRule &rule, const CutLoop &cut, const Layout &scatter) {
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      if (isOpen(operand))
        states[stateOf[operand]] = layoutOfOperand(&op, rule, cut, i, group.ranks);
    if (!cut.isCut())
      return;
    choices[&op] = cut;
    const bool onScattered = followsScattered(op, rule, cut);
    if (scatter.isCut())
      scatters[&op] = scatter;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      const Layout layout = scatter.isCut() ? scatter : layoutOfResult(&op, rule, cut, i, group.ranks);
      if (!layout.isCut())
        continue;
      layouts[result] = layout;
      if (onScattered || scatter.isCut())
        scattered.insert(result);
    }
  }

  /// Whether the op's cut is that of blocks of the residual stream.
  bool followsScattered(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      const Layout wanted = layoutOfOperand(&op, rule, cut, i, group.ranks);
      if ((scattered.contains(operand) && layoutOf(operand) == wanted) ||
          (sliced.contains(operand) && sliced.lookup(operand) == wanted))
        return true;
    }
    return false;
  }

  /// Whether all that is cut of what the op reads are blocks of the residual stream.
  bool isOnScattered(Operation &op) const {
    bool any = false;
    for (Value operand : op.getOperands()) {
      const bool isBlock = scattered.contains(operand) || sliced.contains(operand);
      if (layoutOf(operand).isCut() && !isBlock && !stateOf.contains(operand))
        return false;
      any |= isBlock;
    }
    return any;
  }

  /// Positions do not: their table is small, and each rank takes its rows of it.
  static bool comesFromArgument(Value value) {
    Operation *producer = value.getDefiningOp();
    return !producer || llvm::any_of(producer->getOperands(), comesFromArgument);
  }

  bool comesFromState(Value value) const {
    while (!stateOf.contains(value) && value.getDefiningOp() &&
           (isCast(*value.getDefiningOp()) || isa<onnx::TransposeOp>(value.getDefiningOp())))
      value = value.getDefiningOp()->getOperand(0);
    return stateOf.contains(value);
  }

  /// The outermost dim of a sum over ranks, but not one of a weight's, that has blocks of equal size which
  /// all forward readers can go on with; whole: each rank needs the sum.
  Layout scatterOf(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    const bool isSaid = annotations.given() && isForward(&op); // by the file, or not at all
    if (isSaid || !sequenceParallel || !rule.loops[cut.loop].reduced || op.getNumResults() != 1)
      return {};
    SmallVector<int> ofWeight;
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
      if (comesFromState(operand))
        ofWeight.append(dims);
    Value sum = op.getResult(0);
    ArrayRef<int64_t> shape = cast<RankedTensorType>(sum.getType()).getShape();
    if (ofWeight.empty() || shape.size() < 2)
      return {};
    for (int dim = 0; dim + 1 < static_cast<int>(shape.size()); ++dim) {
      const int loop = rule.results[0][dim];
      const bool isRow = loop == ShardingRule::kWhole || !llvm::is_contained(ofWeight, loop);
      if (isRow && shape[dim] % group.ranks == 0 && canReadRows(sum, dim))
        return {dim, {}};
    }
    return {};
  }

  /// Whether readers that only move elements keep the blocks together.
  bool canReadRows(Value sum, int dim) const {
    return llvm::all_of(sum.getUses(), [&](OpOperand &use) {
      if (!isa<onnx::ReshapeOp>(use.getOwner()))
        return true;
      const ShardingRule rule = ruleOf(use.getOwner(), group.ranks);
      const int loop = rule.operands[0][dim];
      return loop != ShardingRule::kWhole && rule.loops[loop].isDivisible(group.ranks);
    });
  }

  /// Of the loops that an operand is cut along, and of none.
  CutLoop cheapest(Operation &op, const ShardingRule &rule) {
    CutLoop best;
    int64_t least = 0;
    for (Value operand : op.getOperands())
      least += layoutOf(operand).isCut() ? cost(operand) : 0;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      const Layout layout = sliced.contains(operand) ? sliced.lookup(operand) : layoutOf(operand);
      if (!layout.isCut() || rule.operands[i][layout.dim] == ShardingRule::kWhole)
        continue;
      const std::optional<CutLoop> under = cutAlong(op, rule, i, layout);
      if (!under || !isPossible(op, rule, *under))
        continue;
      const CutLoop &cut = *under;
      if (rule.loops[cut.loop].reduced && isForward(&op) && isOfWeight(op) && anyOpen(op))
        return cut; // and backward sends nothing
      const int64_t price = costOf(op, rule, cut);
      if (price <= least) {
        best = cut;
        least = price;
      }
    }
    return best;
  }

  bool anyOpen(Operation &op) const {
    return llvm::any_of(op.getOperands(), [&](Value operand) { return isOpen(operand); });
  }

  std::optional<CutLoop> cutAlong(Operation &op, const ShardingRule &rule, unsigned operand,
                                  const Layout &layout) const {
    const int loop = rule.operands[operand][layout.dim];
    if (rule.loops[loop].sections.empty())
      return cutUnder(rule, loop, layout, op.getOperand(operand).getType(), group.ranks);
    return cutInSections(&op, rule, loop, [&](Value value) { return layoutOf(value); }, group.ranks);
  }

  /// Blocks can be computed, sections mean the same in all tensors.
  bool isPossible(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    const ShardingLoop &loop = rule.loops[cut.loop];
    if (!keepsBits(rule, cut))
      return false;
    if (cut.isPadded() ? !loop.takesPadding || !canBeSaid(cut, rule, group.ranks)
                       : !loop.isDivisible(group.ranks))
      return false;
    if (cut.sections.empty())
      return true;
    const int64_t size = llvm::sum_of(cut.sections);
    auto fits = [&](Value value, ArrayRef<int> dims) {
      const int dim = ShardingRule::dimOf(dims, cut.loop);
      return dim == ShardingRule::kWhole || cast<RankedTensorType>(value.getType()).getDimSize(dim) == size;
    };
    for (auto [value, dims] : llvm::zip(op.getOperands(), rule.operands))
      if (!fits(value, dims))
        return false;
    for (auto [value, dims] : llvm::zip(op.getResults(), rule.results))
      if (!fits(value, dims))
        return false;
    return true;
  }

  int64_t costOf(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    int64_t price = 0;
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      if (Layout layout = layoutOf(operand);
          layout.isCut() && !(layout == layoutOfOperand(&op, rule, cut, i, group.ranks)))
        price += cost(operand);
    const int64_t times = scatterOf(op, rule, cut).isCut() ? 1 : 2;
    if (rule.loops[cut.loop].reduced)
      for (Value result : op.getResults())
        price += times * bytesOf(result.getType()) * (group.ranks - 1) / group.ranks;
    for (auto [i, result] : llvm::enumerate(op.getResults())) // else the update is of the whole
      if (Layout wanted = parameters.ofGradient(result);
          wanted.isCut() && !(layoutOfResult(&op, rule, cut, i, group.ranks) == wanted))
        price += bytesOf(result.getType()) << 20;
    return price;
  }

  /// Elements of a vector. In which order a nest with fewer adds depends on what it is fused with.
  static constexpr int64_t kLanes = 16;

  /// With sums over rows that are trees no other sum is cut.
  bool keepsBits(const ShardingRule &rule, const CutLoop &cut) const {
    return !sameBits || rule.keepsBits(cut.loop);
  }

  static bool isOfWeight(Operation &op) {
    return onnx::isMatmul(&op) || isa<onnx::ConvOp, onnx::ConvTransposeOp, train::ScaledProductOp>(op);
  }

  /// A product with a parameter that nothing cuts yet: its columns, if what follows can go on with them.
  CutLoop seed(Operation &op, const ShardingRule &rule) {
    if (!isOfWeight(op) || !isForward(&op))
      return {};
    for (unsigned weight : {1U, 0U}) {
      if (!isOpen(op.getOperand(weight)) || isOpen(op.getOperand(1 - weight)))
        continue;
      for (int loop : rule.operands[weight]) {
        if (loop == ShardingRule::kWhole || rule.loops[loop].reduced ||
            llvm::is_contained(rule.operands[1 - weight], loop))
          continue;
        Demand demand;
        const int64_t size = rule.loops[loop].units;
        const int dim = ShardingRule::dimOf(rule.results[0], loop);
        if (dim == ShardingRule::kWhole || !rule.loops[loop].isCuttable(group.ranks) ||
            !canGoOn(op.getResult(0), dim, demand, 0))
          continue;
        const CutLoop cut(loop, demand.blocksOf(size, group.ranks));
        const int64_t room = cut.room(size, group.ranks);
        if (room < size && !(sameBits && room < kLanes) && isPossible(op, rule, cut))
          return cut;
      }
      wholeMatmuls.push_back(&op);
    }
    return {};
  }

  /// Whether all forward ops behind a value that is cut along `dim` can be; `demand`: as those of them want
  /// it.
  bool canGoOn(Value value, int dim, Demand &demand, int depth) {
    constexpr int kDeepest = 16;
    if (depth == kDeepest)
      return true;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!isForward(user) || user->hasTrait<OpTrait::IsTerminator>())
        continue;
      const ShardingRule rule = ruleOf(user, group.ranks);
      const int loop = rule.loops.empty() ? ShardingRule::kWhole : rule.operands[use.getOperandNumber()][dim];
      if (loop == ShardingRule::kWhole || !rule.loops[loop].isCuttable(group.ranks)) {
        if (sameBits) // the next product is by columns, too, and reads all of it
          continue;
        return false;
      }
      if (rule.loops[loop].of == ShardingLoop::Sections::OfOperands)
        demand.cutIn(rule.loops[loop].sections);
      const int64_t perUnit = elementsAUnit(value, dim, rule.loops[loop]);
      demand.need(perUnit);
      if (rule.loops[loop].reduced)
        continue;
      for (auto [i, result] : llvm::enumerate(user->getResults())) {
        const int next = ShardingRule::dimOf(rule.results[i], loop);
        Demand behind;
        if (next == ShardingRule::kWhole)
          continue;
        if (!canGoOn(result, next, behind, depth + 1))
          return false;
        passBack(behind, elementsAUnit(result, next, rule.loops[loop]), rule.loops[loop], i, perUnit, demand);
      }
    }
    return true;
  }
};

} // namespace kedge::mesh
