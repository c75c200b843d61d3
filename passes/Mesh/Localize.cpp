#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Mesh/Blocks.h"
#include "passes/Mesh/ParameterLayouts.h"
#include "passes/Mesh/Passes.h"
#include "passes/Mesh/ZeroPadding.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_LOCALIZE
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// A value of the step as the rank has it.
struct Local {
  Value value;
  Layout layout;
  SmallVector<Type> partOf; ///< a flat part along another axis: of what
  bool hasZeros = true;     ///< as padding, if it has any
};

struct Counts {
  int64_t onBlocks = 0, sumsJoined = 0, collectives = 0, bytesSent = 0;
};

/// Rewrites a function, op by op.
class Rewrite {
public:
  Rewrite(func::FuncOp function, const StateLayouts &states, dist::RankGroup group, Counts &counts)
      : function(function), states(states), group(group), counts(counts) {}

  LogicalResult run() {
    SmallVector<Operation *> replaced;
    for (BlockArgument argument : function.getArguments())
      if (Layout layout = layoutOfState(train::stateOfArgument(function, argument.getArgNumber()));
          layout.isCut())
        replaced.push_back(takeBlock(argument, layout));
    Block &block = function.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (isa<UnrealizedConversionCastOp>(op)) {
        continue;
      } else if (joinSums(op)) {
        replaced.push_back(&op);
      } else if (isa<onnx::CastOp>(op) && anyParts(op)) { // of a flat part, whatever blocks it was seen in
        castParts(cast<onnx::CastOp>(op));
        replaced.push_back(&op);
      } else if (op.hasAttr(dist::cutName)) {
        onBlocks(op);
        replaced.push_back(&op);
      } else if (readsWhole(&op)) {
        onWholes(op);
      } else if (isa<dist::DistDialect>(op.getDialect()) &&
                 (anyCut(op) || layoutOfGradient(op).value_or(Layout()).isCut())) {
        send(op);
        replaced.push_back(&op);
      } else if (anyParts(op)) {
        if (failed(onParts(op)))
          return failure();
        if (op.getNumResults() > 0)
          replaced.push_back(&op);
      } else {
        onWholes(op);
      }
    giveBlocks(block.getTerminator());
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    SmallVector<Operation *> left;
    for (Operation &op : block.without_terminator())
      left.push_back(&op);
    for (Operation *op : llvm::reverse(left))
      if (isOpTriviallyDead(op)) // sums that were joined
        op->erase();
    countSent(block);
    function.setFunctionType(FunctionType::get(function.getContext(), block.getArgumentTypes(),
                                               block.getTerminator()->getOperandTypes()));
    return success();
  }

private:
  func::FuncOp function;
  const StateLayouts &states;
  dist::RankGroup group;
  Counts &counts;
  DenseMap<Value, Local> locals;              ///< of values that are cut, or made anew
  DenseMap<Value, SmallVector<Local>> joined; ///< parts in a row, by what joined them
  DenseMap<Value, Value> wholes;              ///< gathered already
  DenseMap<Value, SmallVector<Local>> blocks; ///< cut already
  Partials partials;

  Layout layoutOfState(FlatSymbolRefAttr state) const {
    return state ? states.lookup(state.getAttr()) : Layout();
  }

  /// Until all is rewritten, another value of the whole's type stands for it: rules of its readers speak of
  /// that.
  Operation *takeBlock(BlockArgument argument, const Layout &layout) {
    OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
    const Type whole = argument.getType();
    argument.setType(blockOf(whole, layout, group.ranks));
    auto standIn = UnrealizedConversionCastOp::create(builder, argument.getLoc(), whole, argument);
    argument.replaceAllUsesExcept(standIn.getResult(0), standIn);
    locals[standIn.getResult(0)] = {argument, layout, {}};
    return standIn;
  }

  /// Gathered once: what is but reshaped goes with what it is made of.
  Value wholeOf(BlockBuilder &build, Value original) {
    const Local local = locals.contains(original) ? locals[original] : Local{original, {}, {}};
    if (!local.layout.isCut())
      return local.value;
    if (Value known = wholes.lookup(original))
      return known;
    auto reshape = original.getDefiningOp<onnx::ReshapeOp>();
    const bool isSame =
        reshape && locals.contains(reshape.getData()) && locals[reshape.getData()].layout.isCut();
    Value whole = isSame ? onnx::ReshapeOp::create(build.builder, build.loc,
                                                   wholeOf(build, reshape.getData()), shapeOf(original))
                               .getResult()
                         : build.gather(local.value, local.layout, original.getType());
    return wholes[original] = whole;
  }

  /// As the ops in front of `builder`'s place see it.
  Value get(PlacedBuilder &builder, Location loc, Value original, const Layout &wanted) {
    BlockBuilder build(builder, loc, group);
    Local local = locals.contains(original) ? locals[original] : Local{original, {}, {}};
    if (local.layout == wanted)
      return local.value;
    Value whole = wholeOf(build, original);
    if (!wanted.isCut())
      return whole;
    for (const Local &block : blocks[original])
      if (block.layout == wanted)
        return block.value;
    blocks[original].push_back({build.cut(whole, wanted), wanted, {}});
    return blocks[original].back().value;
  }

  /// Of the op, or of what makes its first operand.
  PlaceAttr placeFor(Operation &op) {
    PlaceAttr place = placeOf(&op);
    if (!place && op.getNumOperands() > 0)
      place = placeOfProducer(op.getOperand(0));
    return place ? place : PlaceAttr::get(op.getContext(), TrainingPhase::Update, "", "results");
  }

  void onWholes(Operation &op) {
    PlacedBuilder builder(&op, placeFor(op));
    Layout layout;
    if (auto gradient = dyn_cast<train::FinalGradientOp>(op))
      layout = layoutOfState(gradient.getParameterAttr());
    for (OpOperand &operand : op.getOpOperands())
      operand.set(getWithZeros(builder, op.getLoc(), operand.get(), layout));
  }

  /// With zeros as padding.
  Value getWithZeros(PlacedBuilder &builder, Location loc, Value original, const Layout &wanted) {
    Value own = get(builder, loc, original, wanted);
    auto found = locals.find(original);
    if (found == locals.end() || found->second.hasZeros || own != found->second.value)
      return own;
    BlockBuilder build(builder, loc, group);
    found->second.value = build.padded(own, wanted, original.getType(), 0);
    found->second.hasZeros = true;
    return found->second.value;
  }

  bool anyCut(Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value value) {
      auto found = locals.find(value);
      return found != locals.end() && found->second.layout.isCut();
    });
  }

  /// That of the parameter whose gradient the flat part is of; nothing where `op` takes no part of a
  /// gradient.
  std::optional<Layout> layoutOfGradient(Operation &op) {
    if (isa<dist::LocalShardOp>(op))
      for (Operation *user : op.getUsers())
        if (auto gradient = dyn_cast<train::FinalGradientOp>(user))
          return layoutOfState(gradient.getParameterAttr());
    return std::nullopt;
  }

  /// A collective along another axis: of the blocks, or of flat parts of them.
  void send(Operation &op) {
    PlacedBuilder builder(&op);
    OperationState state(op.getLoc(), op.getName(), {}, {}, op.getAttrs());
    SmallVector<Local> sent;
    for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
      if (auto found = locals.find(operand); found != locals.end() && found->second.partOf.empty())
        (void)getWithZeros(builder, op.getLoc(), operand, found->second.layout);
      Local local = locals.contains(operand) ? locals[operand] : Local{operand, {}, {}};
      if (const std::optional<Layout> wanted = layoutOfGradient(op);
          wanted && local.partOf.empty() && local.layout != *wanted)
        local = {getWithZeros(builder, op.getLoc(), operand, *wanted), *wanted, {}};
      state.addOperands(local.value);
      if (isa<dist::ReduceScatterOp, dist::LocalShardOp>(op)) {
        local.partOf.push_back(local.value.getType());
        state.addTypes(
            dist::localShardOf(local.value.getType(), cast<IntegerAttr>(op.getAttr("ranks")).getInt()));
      } else if (isa<dist::AllGatherOp>(op)) {
        // A bucket may have what no rank along this axis has cut, with what they have.
        state.addTypes(local.partOf.empty() ? blockOf(result.getType(), local.layout, group.ranks)
                                            : local.partOf.pop_back_val());
      } else {
        state.addTypes(local.value.getType());
      }
      sent.push_back(local);
    }
    Operation *made = builder.create(state);
    for (auto [result, own, local] : llvm::zip(op.getResults(), made->getResults(), sent))
      locals[result] = {own, local.layout, local.partOf};
  }

  bool anyParts(Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value value) {
      auto found = locals.find(value);
      return joined.contains(value) ||
             (found != locals.end() && found->second.layout.isCut() && !found->second.partOf.empty());
    });
  }

  /// Reductions of flat parts, sums of squares or whether a number is not finite: what parts of blocks give
  /// is joined over the axis, parts of whole tensors are alike on it.
  LogicalResult onParts(Operation &op) {
    SmallVector<Local> parts;
    for (Value operand : op.getOperands())
      if (auto found = joined.find(operand); found != joined.end())
        parts.append(found->second);
      else
        parts.push_back(locals.contains(operand) ? locals[operand] : Local{operand, {}, {}});
    if (isa<train::FinalGradientOp>(op)) { // as the rank has it
      op.setOperand(0, parts[0].value);
      return success();
    }
    if (isa<onnx::ConcatOp>(op)) {
      joined[op.getResult(0)] = parts;
      return success();
    }
    if (isa<train::NotFiniteOp>(op)) {
      flagParts(op, parts);
      return success();
    }
    const bool squares = isa<onnx::ReduceSumSquareOp>(op);
    if ((!squares && !isa<onnx::ReduceMaxOp>(op)) || rankOf(op.getResult(0)) != 0)
      return op.emitOpError("reads flat parts along another axis of a gradient that '")
             << group.axis.getValue() << "' cuts: not available yet; expected a sum of squares, or a maximum";
    reduce(op, parts, squares);
    return success();
  }

  void reduce(Operation &op, ArrayRef<Local> parts, bool squares) {
    PlacedBuilder builder(&op);
    BlockBuilder build(builder, op.getLoc(), group);
    const auto joinedBy = [&](Value a, Value b) -> Value {
      if (squares)
        return onnx::AddOp::create(builder, op.getLoc(), a, b);
      return onnx::MaxOp::create(builder, op.getLoc(), a, b);
    };
    Value all;
    for (bool cut : {true, false}) {
      SmallVector<Value> own;
      for (const Local &part : parts)
        if (part.layout.isCut() == cut)
          own.push_back(part.value);
      if (own.empty())
        continue;
      Value row = own.size() == 1 ? own[0] : onnx::ConcatOp::create(builder, op.getLoc(), own, 0).getResult();
      IRMapping operand;
      operand.map(op.getOperand(0), row);
      Value one = builder.clone(op, operand)->getResult(0);
      if (cut)
        one = squares ? build.sumOverRanks(one) : build.maximumOverRanks(one);
      all = all ? joinedBy(all, one) : one;
    }
    locals[op.getResult(0)] = {all, {}, {}};
  }

  /// Each for itself, and still in a row.
  void flagParts(Operation &op, SmallVector<Local> parts) {
    PlacedBuilder builder(&op);
    for (Local &part : parts)
      part.value = train::NotFiniteOp::create(builder, op.getLoc(), part.value);
    joined[op.getResult(0)] = std::move(parts);
  }

  /// Parts in a row each for itself.
  void castParts(onnx::CastOp cast) {
    PlacedBuilder builder(cast);
    const Type element = elementOf(cast.getResult());
    const bool inRow = joined.contains(cast.getOperand());
    SmallVector<Local> parts =
        inRow ? joined[cast.getOperand()] : SmallVector<Local>{locals[cast.getOperand()]};
    for (Local &part : parts) {
      part.value = onnx::CastOp::create(builder, cast.getLoc(), part.value, TypeAttr::get(element));
      for (Type &whole : part.partOf)
        whole = llvm::cast<RankedTensorType>(whole).clone(element);
    }
    if (inRow)
      joined[cast.getResult()] = std::move(parts);
    else
      locals[cast.getResult()] = std::move(parts[0]);
  }

  void onBlocks(Operation &op) {
    PlacedBuilder builder(&op);
    const ShardingRule rule = ruleOf(&op, group.ranks);
    const CutLoop cut = cutLoopOf(&op, rule);
    const Layout scatter = scatterOf(&op);
    const SmallVector<DictionaryAttr> notes = valueNotesOf(&op);
    op.removeDiscardableAttr(valuesName);
    op.removeAttr(dist::cutName);
    op.removeAttr(dist::scatterName);
    SmallVector<Value> operands;
    const bool sumsPadding = cut.isPadded() && rule.loops[cut.loop].reduced;
    llvm::BitVector zeros(op.getNumOperands());
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      const Layout layout = layoutOfOperand(&op, rule, cut, i, group.ranks);
      operands.push_back(sumsPadding ? getWithZeros(builder, op.getLoc(), operand, layout)
                                     : get(builder, op.getLoc(), operand, layout));
      auto found = locals.find(operand);
      zeros[i] = layout.isCut() &&
                 (found == locals.end() || found->second.hasZeros || operands.back() != found->second.value);
    }
    BlockBuilder build(builder, op.getLoc(), group, cut, scatter, &partials);
    auto sharded = dyn_cast<ShardingOpInterface>(op);
    SmallVector<Value> results =
        sharded ? sharded.buildLocal(build, operands) : cloneLocal(build, &op, operands, rule);
    const llvm::BitVector known =
        cut.isPadded() ? resultsWithZeros(&op, rule, cut, zeros) : llvm::BitVector(op.getNumResults(), true);
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      locals[result] = {results[i],
                        scatter.isCut() ? scatter : layoutOfResult(&op, rule, cut, i, group.ranks),
                        {},
                        scatter.isCut() || known.test(i)};
    for (auto [note, result] : llvm::zip(notes, op.getResults()))
      noteLocal(note, result);
    ++counts.onBlocks;
  }

  /// What the ranks have of the value `original`.
  void noteLocal(DictionaryAttr note, Value original) {
    const Local &local = locals[original];
    if (!note)
      return;
    Builder builder(function.getContext());
    if (auto found = partials.find(local.value); found != partials.end())
      giveValueNote(found->second.value, withEntry(note, "sum", group.axis));
    if (!local.layout.isCut())
      return giveValueNote(local.value, note);
    const auto list = [&](ArrayRef<int64_t> numbers) { return builder.getDenseI64ArrayAttr(numbers); };
    const int64_t size = shapeOf(original)[local.layout.dim];
    const SmallVector<int64_t> one{size};
    giveValueNote(
        local.value,
        withEntry(note, "cut",
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("axis", group.axis),
                       builder.getNamedAttr("dim", builder.getI64IntegerAttr(local.layout.dim)),
                       builder.getNamedAttr("sections", list(local.layout.sections.empty()
                                                                 ? ArrayRef<int64_t>(one)
                                                                 : ArrayRef(local.layout.sections))),
                       builder.getNamedAttr("rooms", list(local.layout.rooms))})));
  }

  /// A sum over ranks that only this op reads.
  const Partial *onlyHere(Value original) const {
    auto local = locals.find(original);
    if (local == locals.end() || !original.hasOneUse())
      return nullptr;
    auto found = partials.find(local->second.value);
    return found == partials.end() ? nullptr : &found->second;
  }

  /// What two sums over ranks add up to is one: gradients of products with one operand in common.
  bool joinSums(Operation &op) {
    if (!isa<onnx::AddOp>(op))
      return false;
    const Partial *a = onlyHere(op.getOperand(0)), *b = onlyHere(op.getOperand(1));
    if (!a || !b || !(a->scatter == b->scatter) || a->value.getType() != b->value.getType())
      return false;
    const Layout scatter = a->scatter;
    PlacedBuilder builder(&op, placeFor(op));
    BlockBuilder build(builder, op.getLoc(), group, {}, scatter, &partials);
    Value both = onnx::AddOp::create(builder, op.getLoc(), a->value, b->value);
    locals[op.getResult(0)] = {build.sum(both, elementOf(op.getResult(0))), scatter, {}};
    noteLocal(valueNoteOf(op.getResult(0)), op.getResult(0));
    ++counts.sumsJoined;
    return true;
  }

  void countSent(Block &block) const {
    for (Operation &op : block)
      if (dist::isCollective(&op) && op.getAttrOfType<StringAttr>("axis") == group.axis) {
        const int64_t times = isa<dist::AllReduceOp>(op) ? 2 : 1;
        const Type whole =
            isa<dist::AllGatherOp>(op) ? op.getResult(0).getType() : op.getOperand(0).getType();
        ++counts.collectives;
        counts.bytesSent += times * bytesOf(whole) * (group.ranks - 1) / group.ranks;
      }
  }

  void giveBlocks(Operation *terminator) {
    for (OpOperand &returned : terminator->getOpOperands()) {
      auto state = train::stateOfResult(function, returned.getOperandNumber());
      PlaceAttr place = placeOfProducer(returned.get());
      PlacedBuilder builder(
          terminator,
          place ? place : PlaceAttr::get(function.getContext(), TrainingPhase::Update, "", "results"));
      returned.set(getWithZeros(builder, returned.get().getLoc(), returned.get(), layoutOfState(state)));
    }
  }
};

struct Localize : impl::LocalizeBase<Localize> {
  using Base::Base;

  void run() override {
    const dist::RankGroup group = tensorGroup(getOperation());
    if (group.isAlone())
      return;
    if (dist::pipelineGroup(getOperation()).isAlone()) // else its stages are still ahead
      getOperation()->removeAttr(dist::annotationsName);
    StateLayouts states;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto cut = state->getAttrOfType<dist::CutAttr>(dist::cutName)) {
        states[state.getSymNameAttr()] = layoutOf(cut, state.getType());
        state->removeAttr(dist::cutName);
        auto whole = cast<RankedTensorType>(state.getType());
        state.setType(dist::boxOf(whole, {cut}));
        state.setShardingAttr(
            dist::ShardingAttr::get(&getContext(), whole.getShape(), {cut}, StringAttr(), 1));
      }
    Counts counts;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        if (failed(Rewrite(function, states, group, counts).run()))
          return signalPassFailure();
    addStatistic("ops on blocks", counts.onBlocks);
    addStatistic("sums joined", counts.sumsJoined);
    addStatistic("collectives", counts.collectives);
    addStatistic("bytes sent", counts.bytesSent);
  }
};
} // namespace
} // namespace kedge::mesh
