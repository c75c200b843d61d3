#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Precision/Angles.h"
#include "passes/Precision/Floats.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PolicyFile.h"

namespace kedge::precision {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// What is known of a value before anything is cast.
struct Flow {
  bool isLow = false;     ///< will be 16-bit
  bool depends = false;   ///< on a parameter or a float input
  bool afterLoss = false; ///< a loss, or follows from one
};

struct AssignPrecision : impl::AssignPrecisionBase<AssignPrecision> {
  using Base::Base;
  Type low, full;
  PolicyFile overrides;
  llvm::DenseMap<Value, Flow> flows;
  llvm::DenseSet<Operation *> algorithm; ///< computes in f32: algorithms of training_info, updates of buffers
  llvm::DenseSet<Operation *> lossOps;   ///< makes the graph's own loss, behind the last product
  int64_t lowOps = 0, fullOps = 0;

  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model)
      return;
    if (failed(readOptions(function)))
      return signalPassFailure();
    findAlgorithm(function);
    findLoss(function);
    Angles angles(function);
    for (BlockArgument argument : function.getArguments())
      if (!angles.areFrequencies(argument))
        assignArgument(function, argument);
    for (Operation &op : function.getBody().front().without_terminator())
      assignOp(&op);
    if (failed(overrides.checkAllUsed(function)))
      return signalPassFailure();
    addStatistic("ops in 16 bits", lowOps);
    addStatistic("ops in f32", fullOps);
  }

  /// What updates the variables of a training_info: all that neither a loss of it nor an output of the model
  /// follows from.
  void findAlgorithm(func::FuncOp function) {
    algorithm.clear();
    if (!train::isOfTrainingInfo(function))
      return findBufferUpdates(function);
    llvm::DenseSet<Operation *> forward;
    for (Operation &op : llvm::reverse(function.getBody().front())) {
      bool gradient = isa<train::GradientOfOp, train::VariableOp>(op);
      if (!gradient && forward.contains(&op))
        follow(op.getOperands(), forward);
      else if (auto of = dyn_cast<train::GradientOfOp>(op))
        follow(of.getY(), forward);
      else if (op.hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &result : op.getOpOperands())
          if (train::bindingOfResult(function, result.getOperandNumber(), train::BindingKind::Output))
            follow(result.get(), forward);
    }
    for (Operation &op : function.getBody().front().without_terminator())
      if (isa<train::GradientOfOp, train::VariableOp>(op) || !forward.contains(&op))
        algorithm.insert(&op);
  }

  /// Between a buffer and its next value: a running value that moved in 16 bits would stop moving.
  void findBufferUpdates(func::FuncOp function) {
    Operation *end = function.getBody().front().getTerminator();
    for (BlockArgument argument : function.getArguments())
      if (FlatSymbolRefAttr state = train::stateOfArgument(function, argument.getArgNumber()))
        for (OpOperand &result : end->getOpOperands())
          if (train::stateOfResult(function, result.getOperandNumber()) == state)
            insertBetween(argument, result.get());
  }

  void insertBetween(BlockArgument before, Value after) {
    llvm::DenseSet<Value> follows{before};
    llvm::DenseSet<Operation *> needed;
    follow(after, needed);
    Block *body = before.getOwner();
    for (Operation &op : *body)
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return follows.contains(operand); }))
        follows.insert(op.result_begin(), op.result_end());
    for (Operation &op : llvm::reverse(body->without_terminator()))
      if (needed.contains(&op)) {
        follow(op.getOperands(), needed);
        if (llvm::any_of(op.getResults(), [&](Value result) { return follows.contains(result); }))
          algorithm.insert(&op);
      }
  }

  /// What a loss of the graph alone follows from, back to products and losses of the standard: those round
  /// their operands or take them as they are.
  void findLoss(func::FuncOp function) {
    lossOps.clear();
    Operation *end = function.getBody().front().getTerminator();
    const auto isLoss = [&](OpOperand &use) {
      auto binding = train::bindingOfResult(function, use.getOperandNumber(), train::BindingKind::Output);
      return binding && lossOutput.getValue().has(binding.getName());
    };
    if (lossOutput.getValue().empty())
      return;
    for (Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
      bool makesIt = false, alone = !op.use_empty();
      for (OpOperand &use : op.getUses()) {
        const bool ofLoss = use.getOwner() == end && isLoss(use);
        makesIt |= ofLoss;
        alone &= ofLoss || continuesLoss(use.getOwner());
      }
      if (makesIt || (alone && classOf(&op) != PrecisionClass::Low))
        lossOps.insert(&op);
    }
  }

  bool continuesLoss(Operation *op) { return lossOps.contains(op) && classOf(op) != PrecisionClass::Loss; }

  static void follow(ValueRange values, llvm::DenseSet<Operation *> &forward) {
    for (Value value : values)
      if (Operation *producer = value.getDefiningOp())
        forward.insert(producer);
  }

  LogicalResult readOptions(func::FuncOp function) {
    flows.clear();
    lowOps = fullOps = 0;
    full = Float32Type::get(&getContext());
    if (type == "bf16")
      low = BFloat16Type::get(&getContext());
    else if (type == "fp16")
      low = Float16Type::get(&getContext());
    else
      return function.emitError() << "unknown type '" << type.getValue() << "': expected bf16 or fp16";
    if (policy != "master" && policy != "autocast")
      return function.emitError() << "unknown policy '" << policy.getValue()
                                  << "': expected master or autocast";
    FailureOr<PolicyFile> read = PolicyFile::read(file, function);
    if (failed(read))
      return failure();
    overrides = std::move(*read);
    return success();
  }

  bool isMaster() const { return policy == "master"; }

  void mark(Operation *op, Type precision) {
    op->setAttr(kPrecision, TypeAttr::get(precision));
    ++(precision == low ? lowOps : fullOps);
  }

  void assignArgument(func::FuncOp function, BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    bool input = bool(train::bindingOfArgument(function, index, train::BindingKind::Input));
    train::StateOp state = stateOf(function, index);
    bool parameter = state && !tune::encodingOf(state) && isWeight(state.getRole());
    if (!isMaster() || !(input || parameter))
      return;
    bool isFloat = isa<FloatType>(elementOf(argument));
    if (input && !argument.use_empty() &&
        llvm::all_of(argument.getUsers(), [&](Operation *user) { return continuesLoss(user); })) {
      flows[argument] = {false, isFloat, false}; // targets
      return;
    }
    flows[argument] = {isCastable(argument), isFloat, false};
    // The algorithm of training_info reads the same value as the model: a model's products cast it.
    bool stays = parameter && train::isOfTrainingInfo(function);
    if (stays && elementOf(argument).isF32())
      flows[argument].isLow = false;
    else if (isCastable(argument) && elementOf(argument).isF32())
      function.setArgAttr(index, kPrecision, TypeAttr::get(low));
  }

  static bool isWeight(train::Role role) {
    return role == train::Role::Parameter || role == train::Role::Frozen || role == train::Role::WorkingCopy;
  }

  static train::StateOp stateOf(func::FuncOp function, unsigned argument) {
    FlatSymbolRefAttr symbol = train::stateOfArgument(function, argument);
    return symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(function, symbol) : train::StateOp();
  }

  void assignOp(Operation *op) {
    Flow flow;
    for (Value operand : op->getOperands()) {
      flow.depends |= flows[operand].depends;
      flow.afterLoss |= flows[operand].afterLoss;
    }
    PrecisionClass kind = classOf(op);
    flow.afterLoss |= kind == PrecisionClass::Loss;
    if (std::optional<Type> precision = decide(op, kind, flow)) {
      mark(op, *precision);
      flow.isLow = *precision == low;
    }
    for (Value result : op->getResults())
      flows[result] = {flow.isLow && isCastable(result), flow.depends, flow.afterLoss};
  }

  PrecisionClass classOf(Operation *op) {
    auto known = dyn_cast<PrecisionOpInterface>(op);
    overridden = overrides.classOf(op);
    return overridden ? *overridden : known ? known.precisionClass() : PrecisionClass::Follow;
  }

  /// The type that the op computes in; nothing for an op that no float of ours touches.
  std::optional<Type> decide(Operation *op, PrecisionClass kind, const Flow &flow) {
    bool touched = llvm::any_of(op->getOperands(), isCastable) || llvm::any_of(op->getResults(), isCastable);
    if (algorithm.contains(op))
      return touched ? std::optional(full) : std::nullopt;
    if (!touched || (isMaster() && !flow.depends))
      return std::nullopt;
    if (kind == PrecisionClass::Loss || flow.afterLoss || (lossOps.contains(op) && !overridden))
      return full;
    if (kind == PrecisionClass::Low && (overridden || !isMaster()))
      return hasGoverned(op) ? std::optional(low) : std::nullopt;
    if (kind == PrecisionClass::Full && (overridden || !isMaster()))
      return full;
    if (isMaster() && !overridden)
      return givesScalarsOnly(op) ? full : low;
    return widest(op);
  }

  static bool hasGoverned(Operation *op) { return llvm::any_of(op->getOpOperands(), isGoverned); }

  static bool givesScalarsOnly(Operation *op) {
    return llvm::none_of(op->getResults(), [](Value result) { return isCastable(result); });
  }

  /// f32 when an operand that decides is f32; nothing when none decides.
  std::optional<Type> widest(Operation *op) {
    std::optional<Type> found;
    for (OpOperand &operand : op->getOpOperands())
      if (isGoverned(operand)) {
        if (!flows[operand.get()].isLow && elementOf(operand.get()).isF32())
          return full;
        found = low;
      }
    return found;
  }

  std::optional<PrecisionClass> overridden;
};
} // namespace
} // namespace kedge::precision
