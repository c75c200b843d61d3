#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ContextAxis.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Interfaces/PositionOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Mesh/Context/PositionBuilder.h"
#include "passes/Mesh/Context/Positions.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_CUTCONTEXT
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// A value as the rank has it: all of it, its positions, or its summand.
struct Held {
  Value value;
  Layout layout;
  bool isSum = false;
};

struct ContextCounts {
  int64_t cut = 0, gathers = 0, sums = 0;
};

class ContextRewrite {
public:
  ContextRewrite(func::FuncOp function, PositionOrder order, ContextCounts &counts)
      : function(function), order(order), positions(order.positions), group(order.group), counts(counts) {}

  LogicalResult run() {
    Block &block = function.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    takePositions(block);
    for (Operation *op : ops)
      if (failed(rewrite(*op)))
        return failure();
    giveResults(block.getTerminator());
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    eraseUnused();
    return success();
  }

private:
  func::FuncOp function;
  PositionOrder order;
  int64_t positions;
  dist::RankGroup group;
  ContextCounts &counts;
  DenseMap<Value, Held> held;                                   ///< absent: whole, as it is
  DenseMap<Value, Value> wholes;                                ///< gathered already
  DenseMap<Value, SmallVector<std::pair<Layout, Value>>> parts; ///< of whole values, cut already
  SmallVector<Operation *> replaced;

  Held heldOf(Value original) const {
    auto found = held.find(original);
    return found == held.end() ? Held{original, {}, false} : found->second;
  }
  bool isCut(Value original) const { return heldOf(original).layout.isCut(); }
  bool isSum(Value original) const { return heldOf(original).isSum; }

  /// Of the inputs, which all ranks read whole: numbers of tokens and labels are next to nothing.
  void takePositions(Block &block) {
    PlacedBuilder builder(&block.front(),
                          PlaceAttr::get(function.getContext(), TrainingPhase::Forward, "", "positions"));
    for (BlockArgument argument : block.getArguments()) {
      ArrayRef<int64_t> shape = shapeOf(argument);
      if (argument.use_empty() || shape.size() < 2 || shape[1] != positions ||
          !train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input))
        continue;
      const Layout layout(1, {});
      held[argument] = {PositionBuilder(builder, argument.getLoc(), order).part(argument, layout), layout,
                        false};
      wholes[argument] = argument;
    }
  }

  LogicalResult rewrite(Operation &op) {
    const bool anyCut = llvm::any_of(op.getOperands(), [&](Value value) { return isCut(value); }),
               anySum = llvm::any_of(op.getOperands(), [&](Value value) { return isSum(value); });
    if (anyCut && !isa<dist::DistDialect>(op.getDialect()))
      if (const std::optional<std::pair<ShardingRule, CutLoop>> way = bestWay(op))
        return onPositions(op, way->first, way->second), success();
    if (auto reshaping = dyn_cast<onnx::ReshapeOp>(op); anyCut && reshaping && reshape(reshaping))
      return success();
    if (!anyCut && anySum && keepsSums(&op, [&](Value value) { return isSum(value); }))
      return onSums(op), success();
    return onWholes(op);
  }

  /// The loop that makes the ranks send least.
  std::optional<std::pair<ShardingRule, CutLoop>> bestWay(Operation &op) {
    if (isa<onnx::ReshapeOp>(op))
      return std::nullopt;
    const ShardingRule rule = positionRuleOf(&op, group.ranks);
    if (rule.loops.empty())
      return std::nullopt;
    std::optional<CutLoop> best;
    int64_t least = INT64_MAX;
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands)) {
      if (!isCut(operand))
        continue;
      const std::optional<CutLoop> cut = positionLoop(&op, rule, dims, heldOf(operand).layout, group.ranks);
      if (!cut)
        continue;
      int64_t bytes = 0;
      for (auto [i, other] : llvm::enumerate(op.getOperands()))
        if (isCut(other) && heldOf(other).layout != layoutOfOperand(&op, rule, *cut, i, group.ranks))
          bytes += bytesOf(other.getType());
      if (bytes < least)
        best = cut, least = bytes;
    }
    return best ? std::optional(std::pair(rule, *best)) : std::nullopt;
  }

  void onPositions(Operation &op, const ShardingRule &rule, const CutLoop &cut) {
    PlacedBuilder builder(&op);
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      operands.push_back(get(builder, op.getLoc(), operand, layoutOfOperand(&op, rule, cut, i, group.ranks)));
    const SmallVector<Value> made = build(builder, op, rule, cut, operands);
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      const Layout layout = layoutOfResult(&op, rule, cut, i, group.ranks);
      held[result] = {made[i], layout, !layout.isCut()};
      keepPositions(builder, op, result);
      note(op, result);
    }
    replaced.push_back(&op);
    ++counts.cut;
  }

  SmallVector<Value> build(OpBuilder &builder, Operation &op, const ShardingRule &rule, const CutLoop &cut,
                           ValueRange operands) {
    if (auto own = dyn_cast<PositionOpInterface>(op)) {
      PositionBuilder local(builder, op.getLoc(), order, cut);
      return withoutNotes(own.buildOnPositions(local, operands));
    }
    return withoutNotes(
        SmallVector<Value>(cloneOnBlocks(builder, &op, operands, rule, cut, group.ranks)->getResults()));
  }

  static SmallVector<Value> withoutNotes(SmallVector<Value> made) {
    made.front().getDefiningOp()->removeDiscardableAttr(valuesName);
    return made;
  }

  /// The gradient of what was gathered is a sum, of which a rank keeps its positions.
  void keepPositions(PlacedBuilder &builder, Operation &op, Value result) {
    if (!held[result].isSum)
      return;
    for (Value operand : op.getOperands())
      if (isCut(operand) && wholes.contains(operand) && operand.getType() == result.getType()) {
        (void)get(builder, op.getLoc(), result, heldOf(operand).layout);
        return;
      }
  }

  bool reshape(onnx::ReshapeOp op) {
    const Held from = heldOf(op.getData());
    const std::optional<Layout> to =
        reshaped(from.layout, shapeOf(op.getData()), shapeOf(op.getReshaped()), positions);
    if (!to)
      return false;
    PlacedBuilder builder(op);
    held[op.getReshaped()] = {
        onnx::ReshapeOp::create(builder, op.getLoc(), from.value,
                                blockOf(op.getReshaped().getType(), *to, group.ranks).getShape()),
        *to, false};
    note(*op, op.getReshaped());
    replaced.push_back(op);
    ++counts.cut;
    return true;
  }

  /// In place: a summand has the type of the sum.
  void onSums(Operation &op) {
    PlacedBuilder builder(&op);
    for (OpOperand &operand : op.getOpOperands())
      operand.set(isSum(operand.get()) ? heldOf(operand.get()).value
                                       : get(builder, op.getLoc(), operand.get(), {}));
    const SmallVector<DictionaryAttr> notes = valueNotesOf(&op);
    for (Value result : op.getResults())
      held[result] = {result, {}, true};
    op.removeDiscardableAttr(valuesName);
    for (auto [given, result] : llvm::zip(notes, op.getResults()))
      if (given)
        giveValueNote(result, withEntry(given, "sum", group.axis));
  }

  LogicalResult onWholes(Operation &op) {
    PlacedBuilder builder(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      if (isCut(operand.get()) && !mayReadAll(&op, operand.get()))
        return op.emitOpError("reads all positions of ")
               << operand.get().getType() << ", which ranks along '" << group.axis.getValue()
               << "' share: not available yet";
      operand.set(get(builder, op.getLoc(), operand.get(), {}));
    }
    return success();
  }

  /// As the ops in front of `builder`'s place see it.
  Value get(PlacedBuilder &builder, Location loc, Value original, const Layout &wanted) {
    const Held own = heldOf(original);
    if (own.isSum) {
      held[original] = {PositionBuilder(builder, loc, order).summed(own.value, wanted), wanted, false};
      ++counts.sums;
      return held[original].value;
    }
    if (own.layout == wanted)
      return own.value;
    if (!own.layout.isCut())
      return partOf(builder, loc, original, wanted);
    Value &whole = wholes[original];
    if (!whole) {
      whole = PositionBuilder(builder, loc, order).all(own.value, own.layout, original.getType());
      ++counts.gathers;
    }
    return wanted.isCut() ? PositionBuilder(builder, loc, order).part(whole, wanted) : whole;
  }

  /// Of a whole value. What makes it makes but the part, if it can.
  Value partOf(PlacedBuilder &builder, Location loc, Value original, const Layout &wanted) {
    for (auto &[layout, value] : parts[original])
      if (layout == wanted)
        return value;
    Value part = made(builder, original, wanted);
    if (!part)
      part = PositionBuilder(builder, loc, order).part(heldOf(original).value, wanted);
    parts[original].emplace_back(wanted, part);
    return part;
  }

  Value made(PlacedBuilder &builder, Value original, const Layout &wanted) {
    Operation *op = original.getDefiningOp();
    if (!op || held.contains(original) || op->hasTrait<OpTrait::ConstantLike>() ||
        isa<dist::DistDialect>(op->getDialect()) || !isMemoryEffectFree(op))
      return {};
    PlacedBuilder own(&*builder.getInsertionPoint(), placeOf(op));
    if (auto reshape = dyn_cast<onnx::ReshapeOp>(op)) {
      const std::optional<Layout> from =
          reshaped(wanted, shapeOf(original), shapeOf(reshape.getData()), positions);
      return from ? onnx::ReshapeOp::create(own, op->getLoc(),
                                            get(own, op->getLoc(), reshape.getData(), *from),
                                            blockOf(original.getType(), wanted, group.ranks).getShape())
                        .getResult()
                  : Value();
    }
    const ShardingRule rule = positionRuleOf(op, group.ranks);
    const unsigned number = cast<OpResult>(original).getResultNumber();
    if (rule.loops.empty())
      return {};
    const std::optional<CutLoop> cut = positionLoop(op, rule, rule.results[number], wanted, group.ranks);
    if (!cut || rule.loops[cut->loop].reduced)
      return {};
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(get(own, op->getLoc(), operand, layoutOfOperand(op, rule, *cut, i, group.ranks)));
    return build(own, *op, rule, *cut, operands)[number];
  }

  /// Gradients stay summands; what is alike on all ranks is the first one's. All else is whole.
  void giveResults(Operation *terminator) {
    for (OpOperand &returned : terminator->getOpOperands()) {
      const Value original = returned.get();
      PlaceAttr place = placeOfProducer(original);
      PlacedBuilder builder(
          terminator,
          place ? place : PlaceAttr::get(function.getContext(), TrainingPhase::Update, "", "results"));
      const bool isGradient = static_cast<bool>(
          train::bindingOfResult(function, returned.getOperandNumber(), train::BindingKind::Gradient));
      if (isGradient && isSum(original))
        returned.set(heldOf(original).value);
      else if (isGradient)
        returned.set(ofFirst(builder, get(builder, original.getLoc(), original, {})));
      else
        returned.set(get(builder, original.getLoc(), original, {}));
    }
  }

  /// Zeros on all ranks but the first.
  Value ofFirst(OpBuilder &builder, Value whole) {
    SmallVector<float> factors(group.ranks, 0);
    factors[0] = 1;
    const Location loc = whole.getLoc();
    Value all = onnx::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({group.ranks}, builder.getF32Type()),
                               ArrayRef<float>(factors)));
    Value own = dist::LocalShardOp::create(builder, loc, all, group).getResult(0);
    if (!elementOf(whole).isF32())
      own = onnx::CastOp::create(builder, loc, own, TypeAttr::get(elementOf(whole)));
    return onnx::MulOp::create(builder, loc, whole,
                               onnx::ReshapeOp::create(builder, loc, own, ArrayRef<int64_t>{}));
  }

  /// What the ranks have of a result.
  void note(Operation &op, Value result) {
    DictionaryAttr given = valueNoteOf(result);
    const Held own = held[result];
    if (!given)
      return;
    if (own.isSum)
      return giveValueNote(own.value, withEntry(given, "sum", group.axis));
    if (order.isZigzag) // which no note can tell
      return;
    Builder b(function.getContext());
    const SmallVector<int64_t> one{shapeOf(result)[own.layout.dim]};
    const ArrayRef<int64_t> sections =
        own.layout.sections.empty() ? ArrayRef<int64_t>(one) : own.layout.sections;
    giveValueNote(
        own.value,
        withEntry(given, "cut",
                  b.getDictionaryAttr({b.getNamedAttr("axis", group.axis),
                                       b.getNamedAttr("dim", b.getI64IntegerAttr(own.layout.dim)),
                                       b.getNamedAttr("sections", b.getDenseI64ArrayAttr(sections)),
                                       b.getNamedAttr("rooms", b.getDenseI64ArrayAttr(own.layout.rooms))})));
  }

  void eraseUnused() {
    IRRewriter rewriter(function);
    std::ignore = runRegionDCE(rewriter, function.getBody());
  }
};

struct CutContext : impl::CutContextBase<CutContext> {
  using Base::Base;

  void run() override {
    const dist::RankGroup group = dist::contextGroup(getOperation());
    if (group.isAlone())
      return;
    const FailureOr<PositionOrder> order = orderOfRows(group);
    if (failed(order))
      return signalPassFailure();
    ContextCounts counts;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && train::kindOf(function) != train::FunctionKind::Predict &&
          failed(ContextRewrite(function, *order, counts).run()))
        return signalPassFailure();
    addStatistic("ops cut", counts.cut);
    addStatistic("gathers", counts.gathers);
    addStatistic("sums", counts.sums);
  }

  /// The queries of all attention, as many as an input has positions.
  FailureOr<PositionOrder> orderOfRows(dist::RankGroup group) {
    train::AttentionOp first;
    bool hidesBehind = false;
    WalkResult walk =
        getOperation().walk(
            [&](train::AttentionOp op) {
              if (first && queriesOf(op) != queriesOf(first)) {
                op.emitOpError("has ")
                    << queriesOf(op) << " queries, and another attention " << queriesOf(first)
                    << ": sequences of several lengths are not available yet with an axis 'context'";
                return WalkResult::interrupt();
              }
              first = first ? first : op;
              hidesBehind |= op.getVisible() && op.getVisible()->right;
              return WalkResult::advance();
            });
    if (walk.wasInterrupted())
      return failure();
    if (!first)
      return getOperation().emitError(
          "axis 'context': the model has no attention that is recognised, so nothing tells which "
          "dimension of its inputs are the positions of a row: not available yet");
    const int64_t positions = queriesOf(first);
    if (positions % group.ranks != 0)
      return first.emitOpError("has ")
             << positions << " queries, which " << group.ranks
             << " ranks along 'context' do not divide: not available yet; expected a "
                "multiple of the ranks";
    if (!hasInput(first->getParentOfType<func::FuncOp>(), positions))
      return first.emitOpError("has ")
             << positions
             << " queries, and no input of the model has as many positions in its second "
                "dimension: not available yet with an axis 'context'";
    return PositionOrder{group, positions, hidesBehind && positions % (2 * group.ranks) == 0};
  }

  static int64_t queriesOf(train::AttentionOp op) { return shapeOf(op.getLSE())[2]; }

  static bool hasInput(func::FuncOp function, int64_t positions) {
    return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      ArrayRef<int64_t> shape = shapeOf(argument);
      return shape.size() >= 2 && shape[1] == positions &&
             train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input);
    });
  }
};
} // namespace
} // namespace kedge::mesh
