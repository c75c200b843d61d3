#include "lib/Dialect/Dist/CollectiveOps.h"
#include "lib/Dialect/Kedge/Place.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/Products.h"
#include "lib/Dialect/Train/Bindings.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Interfaces/ClusterableOpInterface.h"
#include "lib/Interfaces/ShardingOpInterface.h"
#include "lib/Support/Statistics.h"
#include "lib/Support/StorageBytes.h"
#include "passes/Mesh/Layout.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// States by name: absent: not decided yet.
using StateLayouts = DenseMap<StringAttr, Layout>;

bool isForward(Operation *op) {
  PlaceAttr place = placeOf(op);
  return place && place.getPhase() == TrainingPhase::Forward;
}

/// One way through a function, in the order of its ops.
class Walk {
public:
  Walk(func::FuncOp function, StateLayouts &states, dist::RankGroup group, bool sequenceParallel)
      : function(function), states(states), group(group), sequenceParallel(sequenceParallel) {
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
      const CutLoop cut = {rule.results[0][wanted.dim], wanted.sections};
      if (isFree(op, rule, cut) && rule.loops[cut.loop].sections.empty() && isPossible(op, rule, cut))
        choices[&op] = cut;
    }
  }

  DenseMap<Operation *, CutLoop> choices;
  DenseMap<Operation *, int>
      scatters;                   ///< dims of results that are sums: each rank keeps its block of the sum
  DenseMap<Value, Layout> sliced; ///< whole values, of which cut ops may read blocks
  SmallVector<Operation *> wholeProducts; ///< with a parameter that could not be cut
  SmallVector<StringAttr> tables;         ///< of embeddings, not decided yet

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
        if (Layout layout = layoutOfOperand(rule, cut, i);
            layout.isCut() && !layoutOf(operand).isCut() && operand.getDefiningOp())
          found[operand] = layout;
    }
    return found;
  }

private:
  func::FuncOp function;
  StateLayouts &states;
  dist::RankGroup group;
  bool sequenceParallel;
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
        own = layoutOfOperand(ruleOf(user, group.ranks), found->second, use.getOperandNumber());
      else if (auto gradient = dyn_cast<train::FinalGradientOp>(user))
        own = states.lookup(gradient.getParameterAttr().getAttr());
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
    if (open && isCast(op)) { // is decided where it is read
      stateOf[op.getResult(0)] = stateOf[op.getOperand(0)];
      return;
    }
    if (!anyCut && !open)
      return;
    const ShardingRule rule = ruleOf(&op, group.ranks);
    CutLoop cut;
    if (open && !rule.loops.empty() && isOnScattered(op))
      cut = seed(op, rule); // the residual stream is gathered in front of columns
    if (!cut.isCut() && !rule.loops.empty())
      cut = anyCut ? cheapest(op, rule) : CutLoop();
    if (open && !cut.isCut() && !rule.loops.empty())
      cut = seed(op, rule);
    if (open && isa<onnx::GatherOp>(op) && !cut.isCut() && isOpen(op.getOperand(0))) {
      tables.push_back(stateOf[op.getOperand(0)]);
      return;
    }
    take(op, rule, cut);
  }

  static bool isCast(Operation &op) {
    return op.getNumOperands() == 1 && op.getNumResults() == 1 && op.hasTrait<ComputesEachElement>();
  }

  void take(Operation &op, const ShardingRule &rule, const CutLoop &cut) {
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      if (isOpen(operand))
        states[stateOf[operand]] = cut.isCut() ? layoutOfOperand(rule, cut, i) : Layout();
    if (!cut.isCut())
      return;
    choices[&op] = cut;
    const int scatter = scatterDim(op, rule, cut);
    const bool onScattered = followsScattered(op, rule, cut);
    if (scatter != ShardingRule::kWhole)
      scatters[&op] = scatter;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      const Layout layout =
          scatter != ShardingRule::kWhole ? Layout{scatter, {}} : layoutOfResult(rule, cut, i);
      if (!layout.isCut())
        continue;
      layouts[result] = layout;
      if (onScattered || scatter != ShardingRule::kWhole)
        scattered.insert(result);
    }
  }

  /// Whether the op's cut is that of blocks of the residual stream.
  bool followsScattered(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      if ((scattered.contains(operand) && layoutOf(operand) == layoutOfOperand(rule, cut, i)) ||
          (sliced.contains(operand) && sliced.lookup(operand) == layoutOfOperand(rule, cut, i)))
        return true;
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

  bool comesFromState(Value value) const {
    while (!stateOf.contains(value) && value.getDefiningOp() &&
           (isCast(*value.getDefiningOp()) || isa<onnx::TransposeOp>(value.getDefiningOp())))
      value = value.getDefiningOp()->getOperand(0);
    return stateOf.contains(value);
  }

  /// The outermost dim of a sum over ranks, but not one of a weight's, that has blocks of equal size which
  /// all forward readers can go on with; kWhole: each rank needs the sum.
  int scatterDim(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    if (!sequenceParallel || !rule.loops[cut.loop].reduced || op.getNumResults() != 1)
      return ShardingRule::kWhole;
    SmallVector<int> ofWeight;
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
      if (comesFromState(operand))
        ofWeight.append(dims);
    Value sum = op.getResult(0);
    ArrayRef<int64_t> shape = cast<RankedTensorType>(sum.getType()).getShape();
    if (ofWeight.empty() || shape.size() < 2)
      return ShardingRule::kWhole;
    for (int dim = 0; dim + 1 < static_cast<int>(shape.size()); ++dim) {
      const int loop = rule.results[0][dim];
      const bool isRow = loop == ShardingRule::kWhole || !llvm::is_contained(ofWeight, loop);
      if (isRow && shape[dim] % group.ranks == 0 && canReadRows(sum, dim))
        return dim;
    }
    return ShardingRule::kWhole;
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
      const CutLoop cut = {rule.operands[i][layout.dim], sectionsFor(rule, i, layout)};
      if (!isPossible(op, rule, cut))
        continue;
      if (rule.loops[cut.loop].reduced && isForward(&op) && onnx::isProduct(&op) && anyOpen(op))
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

  static SmallVector<int64_t> sectionsFor(const ShardingRule &rule, unsigned operand, const Layout &layout) {
    return rule.loops[rule.operands[operand][layout.dim]].sections.empty() ? layout.sections
                                                                           : SmallVector<int64_t>();
  }

  /// Blocks are equal, sections mean the same in all tensors.
  bool isPossible(Operation &op, const ShardingRule &rule, const CutLoop &cut) const {
    if (!rule.loops[cut.loop].isDivisible(group.ranks))
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
      if (Layout layout = layoutOf(operand); layout.isCut() && !(layout == layoutOfOperand(rule, cut, i)))
        price += cost(operand);
    const int64_t times = scatterDim(op, rule, cut) == ShardingRule::kWhole ? 2 : 1;
    if (rule.loops[cut.loop].reduced)
      for (Value result : op.getResults())
        price += times * bytesOf(result.getType()) * (group.ranks - 1) / group.ranks;
    return price;
  }

  /// A product with a parameter that nothing cuts yet: its columns, if what follows can go on with them.
  CutLoop seed(Operation &op, const ShardingRule &rule) {
    if (!onnx::isProduct(&op) || !isForward(&op))
      return {};
    for (unsigned weight : {1U, 0U}) {
      if (!isOpen(op.getOperand(weight)) || isOpen(op.getOperand(1 - weight)))
        continue;
      for (int loop : rule.operands[weight]) {
        if (loop == ShardingRule::kWhole || rule.loops[loop].reduced ||
            llvm::is_contained(rule.operands[1 - weight], loop))
          continue;
        CutLoop cut = {loop, {}};
        const int dim = ShardingRule::dimOf(rule.results[0], loop);
        if (dim != ShardingRule::kWhole && rule.loops[loop].isDivisible(group.ranks) &&
            canGoOn(op.getResult(0), dim, cut.sections, 0) && isPossible(op, rule, cut))
          return cut;
      }
      wholeProducts.push_back(&op);
    }
    return {};
  }

  /// Whether all forward ops behind a value that is cut along `dim` can be; `sections`: as those of them want
  /// it.
  bool canGoOn(Value value, int dim, SmallVector<int64_t> &sections, int depth) {
    constexpr int kDeepest = 16;
    if (depth == kDeepest)
      return true;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!isForward(user) || user->hasTrait<OpTrait::IsTerminator>())
        continue;
      const ShardingRule rule = ruleOf(user, group.ranks);
      const int loop = rule.loops.empty() ? ShardingRule::kWhole : rule.operands[use.getOperandNumber()][dim];
      if (loop == ShardingRule::kWhole || !rule.loops[loop].isDivisible(group.ranks))
        return false;
      if (!rule.loops[loop].sections.empty()) {
        if (rule.loops[loop].of == ShardingLoop::Sections::OfOperands)
          sections = rule.loops[loop].sections;
      }
      if (rule.loops[loop].reduced)
        continue;
      SmallVector<int64_t> inner;
      for (auto [result, dims] : llvm::zip(user->getResults(), rule.results))
        if (int next = ShardingRule::dimOf(dims, loop);
            next != ShardingRule::kWhole &&
            !canGoOn(result, next, rule.loops[loop].sections.empty() ? sections : inner, depth + 1))
          return false;
    }
    return true;
  }
};

struct PropagateShardings : impl::PropagateShardingsBase<PropagateShardings> {
  using Base::Base;
  dist::RankGroup group;
  StateLayouts states;

  void runOnOperation() override {
    group = tensorGroup(getOperation());
    if (group.isAlone())
      return;
    states.clear();
    for (auto state : getOperation().getOps<train::StateOp>())
      if (cast<RankedTensorType>(state.getType()).getRank() == 0)
        states[state.getSymNameAttr()] = Layout();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        settle(function);
    for (auto state : getOperation().getOps<train::StateOp>())
      note(state);
  }

  /// The first way decides about states, the second finds them decided, the third knows which whole values
  /// are read in blocks.
  void settle(func::FuncOp function) {
    Walk first(function, states, group, sequenceParallel);
    first.run();
    for (StringAttr table : first.tables)
      if (!states.contains(table))
        states[table] = layoutOfTable(table);
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        states.try_emplace(state.getAttr());
    Walk second(function, states, group, sequenceParallel), third(function, states, group, sequenceParallel);
    second.run();
    third.sliced = second.slices();
    third.run();
    third.pullBack();
    for (auto [op, cut] : third.choices)
      op->setAttr(dist::cutName, attributeOf(cut, group));
    for (auto [op, dim] : third.scatters)
      op->setAttr(dist::scatterName, attributeOf(Layout{dim, {}}, group));
    addStatistic("kedge-propagate-shardings", "ops cut", static_cast<int64_t>(third.choices.size()));
    addStatistic("kedge-propagate-shardings", "sums scattered", static_cast<int64_t>(third.scatters.size()));
    addStatistic("kedge-propagate-shardings", "products whole",
                 static_cast<int64_t>(first.wholeProducts.size()));
    for (Operation *product : first.wholeProducts)
      product->emitRemark()
          << "is computed whole on each of " << group.ranks
          << " ranks: no dimension of its weight is cut into equal blocks that what follows can use; "
          << bytesOf(product->getOperand(1).getType()) << " bytes of weight on each";
  }

  Layout layoutOfTable(StringAttr name) {
    auto state = getOperation().lookupSymbol<train::StateOp>(name);
    const int64_t rows = cast<RankedTensorType>(state.getType()).getDimSize(0);
    const bool isTrained = state.getRole() != train::Role::Constant;
    return isTrained && rows % group.ranks == 0 ? Layout{0, {}} : Layout();
  }

  void note(train::StateOp state) {
    const Layout layout = states.lookup(state.getSymNameAttr());
    if (!layout.isCut())
      return;
    state->setAttr(dist::cutName, attributeOf(layout, group));
    addStatistic("kedge-propagate-shardings", "states cut", 1);
    addStatistic("kedge-propagate-shardings", "bytes saved",
                 bytesOf(state.getType()) - bytesOf(blockOf(state.getType(), layout.dim, group.ranks)));
  }
};
} // namespace
} // namespace kedge::mesh
