#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "passes/Pipeline/ForwardProgram.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StageProgram.h"
#include "passes/Pipeline/UnrollChecks.h"

namespace kedge::pipeline {
#define GEN_PASS_DEF_UNROLLMICROBATCHES
#include "passes/Pipeline/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

constexpr StringLiteral kJoined = "where micro-batches are joined";

/// Scalars are alike in all micro-batches, but for those that count them or their rows.
bool isShared(train::BindingAttr binding, ModuleOp module) {
  if (!binding)
    return false;
  if (binding.is(BindingKind::Scalar))
    return binding.getName() != "micro" && binding.getName() != "row_base";
  if (!binding.is(BindingKind::State))
    return false;
  auto state = module.lookupSymbol<train::StateOp>(binding.getSymbol().getAttr());
  return state && state.getRole() != train::Role::Accumulator;
}

/// Values of @micro that are alike in all micro-batches: what follows from states, constants and sums over
/// micro-batches alone.
DenseSet<Value> sharedValues(func::FuncOp micro) {
  DenseSet<Value> shared;
  for (BlockArgument argument : micro.getArguments())
    if (isShared(train::bindingOfArgument(micro, argument.getArgNumber()),
                 micro->getParentOfType<ModuleOp>()))
      shared.insert(argument);
  for (Operation &op : micro.getBody().front().without_terminator())
    if (isa<train::SumMicrosOp>(op) ||
        llvm::all_of(op.getOperands(), [&](Value operand) { return shared.contains(operand); }))
      shared.insert_range(op.getResults());
  return shared;
}

struct UnrollMicroBatches : impl::UnrollMicroBatchesBase<UnrollMicroBatches> {
  using Base::Base;

  void run() override {
    auto micro = train::functionOf(getOperation(), FunctionKind::Micro);
    auto update = train::functionOf(getOperation(), FunctionKind::Update);
    if (!micro || !update) {
      getOperation().emitError("has no @micro with @update to unroll into one step");
      return signalPassFailure();
    }
    const DenseSet<Value> shared = sharedValues(micro);
    if (failed(check(micro, update)) || failed(checkStates(micro, shared)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getBody().front().without_terminator())
        op.setAttr(dist::pipelineStageName, IntegerAttr::get(IntegerType::get(&getContext(), 64), 0));
    const StageOf all{0, 1, microBatches};
    const StageParts parts(micro, 1, {false});
    StageProgram training(micro, update, parts, all);
    training.share(shared);
    write(micro, shared, training);
    training.update();
    training.finish();
    const bool lossIsMean = !train::NominalItemsNote(&getContext()).isAttrPresent(micro);
    for (FunctionKind kind : {FunctionKind::Eval, FunctionKind::Predict})
      if (auto function = train::functionOf(getOperation(), kind))
        ForwardProgram(function, training, all).write(lossIsMean);
    micro.erase();
    update.erase();
    getOperation().walk([](Operation *op) { op->removeAttr(dist::pipelineStageName); });
    removeAccumulators();
  }

  LogicalResult check(func::FuncOp micro, func::FuncOp update) {
    if (microBatches < 1)
      return getOperation().emitError()
             << "has " << microBatches.getValue() << " micro-batches a step, expected 1 or more";
    if (micro.getOps<train::SumMicrosOp>().empty())
      return micro.emitError() << "has no BatchNormalization in training, whose statistics are what joins "
                                  "micro-batches; leave --batchnorm exact out";
    for (func::FuncOp function : {micro, update})
      if (failed(checkResults(function, kJoined)))
        return failure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkRows(function, kJoined)))
        return failure();
    return success();
  }

  /// Each of the states that @micro changes is the same whatever the micro-batch.
  LogicalResult checkStates(func::FuncOp micro, const DenseSet<Value> &shared) {
    for (OpOperand &result : micro.getBody().front().getTerminator()->getOpOperands()) {
      auto symbol = train::stateOfResult(micro, result.getOperandNumber());
      auto state = symbol ? getOperation().lookupSymbol<train::StateOp>(symbol.getAttr()) : train::StateOp();
      if (state && state.getRole() != train::Role::Accumulator && !shared.contains(result.get()))
        return state.emitError() << "state '" << symbol.getValue()
                                 << "' changes with each micro-batch: not available yet " << kJoined;
    }
    return success();
  }

  /// All micro-batches have come to a sum before any goes on.
  void write(func::FuncOp micro, const DenseSet<Value> &shared, StageProgram &program) {
    SmallVector<Operation *> ops;
    const auto runAll = [&] {
      for (int64_t batch = 0; batch < microBatches; ++batch)
        for (Operation *op : ops)
          if (batch == 0 || !isWrittenOnce(op, shared)) {
            program.run(op, batch);
            ++written;
          }
      ops.clear();
    };
    for (Operation &op : micro.getBody().front().without_terminator())
      if (auto sum = dyn_cast<train::SumMicrosOp>(op)) {
        runAll();
        program.join(sum);
        addStatistic("sums joined", 1);
      } else {
        ops.push_back(&op);
      }
    runAll();
    addStatistic("ops written", written);
  }

  static bool isWrittenOnce(Operation *op, const DenseSet<Value> &shared) {
    return op->getNumResults() > 0 && shared.contains(op->getResult(0));
  }

  /// Gradients are values of the step.
  void removeAccumulators() {
    for (auto state : llvm::to_vector(getOperation().getOps<train::StateOp>()))
      if (state.getRole() == train::Role::Accumulator)
        state.erase();
  }

  int64_t written = 0;
};
} // namespace
} // namespace kedge::pipeline
