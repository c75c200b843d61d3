#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Support/Statistics.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/Schedule.h"
#include "passes/Pipeline/StageProgram.h"

namespace kedge::pipeline {
#define GEN_PASS_DEF_UNROLLPIPELINE
#include "passes/Pipeline/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

/// A slot begins, or what it has made is sent.
struct Event {
  int64_t time;
  bool begins;
  const Slot *slot;
};

std::vector<Event> eventsOf(const std::vector<Slot> &slots) {
  std::vector<Event> events;
  for (const Slot &slot : slots) {
    events.push_back({slot.begin, true, &slot});
    events.push_back({slot.end, false, &slot});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;
  });
  return events;
}

struct UnrollPipeline : impl::UnrollPipelineBase<UnrollPipeline> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->removeAttr(dist::annotationsName); // followed
    auto micro = train::functionOf(getOperation(), FunctionKind::Micro);
    auto update = train::functionOf(getOperation(), FunctionKind::Update);
    if (!micro || !update) {
      getOperation().emitError("has no @micro with @update to unroll into the step of a stage");
      return signalPassFailure();
    }
    if (failed(checkOptions()) || failed(checkFunction(micro)) || failed(checkFunction(update)))
      return signalPassFailure();
    unroll(micro, update);
    for (FunctionKind kind :
         {FunctionKind::Micro, FunctionKind::Update, FunctionKind::Eval, FunctionKind::Predict})
      if (auto function = train::functionOf(getOperation(), kind))
        function.erase();
    for (FunctionKind kind : {FunctionKind::Init, FunctionKind::Restore})
      if (auto function = train::functionOf(getOperation(), kind))
        keepOwn(function);
    dropStates();
  }

  int64_t stages() {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::meshName);
    return mesh ? std::max<int64_t>(1, mesh.sizeOf(dist::pipelineAxis)) : 1;
  }

  LogicalResult checkOptions() {
    if (!isSchedule(schedule))
      return getOperation().emitError()
             << "unknown schedule '" << schedule.getValue() << "' of a pipeline: expected gpipe or 1f1b";
    if (stage < 0 || stage >= stages())
      return getOperation().emitError()
             << "has no stage " << stage.getValue() << ": expected one from 0 to " << stages() - 1;
    if (microBatches < 1)
      return getOperation().emitError()
             << "has " << microBatches.getValue() << " micro-batches a step, expected 1 or more";
    return success();
  }

  /// Inputs that have the rows of a micro-batch; results that the host knows.
  LogicalResult checkFunction(func::FuncOp function) {
    int64_t rows = 0;
    for (BlockArgument argument : function.getArguments()) {
      auto input = train::bindingOfArgument(function, argument.getArgNumber(), BindingKind::Input);
      if (!input)
        continue;
      if (rankOf(argument) == 0 || (rows && shapeOf(argument).front() != rows))
        return function.emitError()
               << "input '" << input.getName() << "' of type " << argument.getType()
               << " has not the rows of the first input: such inputs are not available yet in a pipeline";
      rows = shapeOf(argument).front();
    }
    for (unsigned index = 0; index < function.getNumResults(); ++index) {
      auto result = train::bindingOfResult(function, index);
      if (result && !result.is(BindingKind::State) && !result.is(BindingKind::Result))
        return function.emitError() << "result '" << result.getName()
                                    << "' is not available yet in a pipeline";
    }
    return success();
  }

  void unroll(func::FuncOp micro, func::FuncOp update) {
    StageProgram program(micro, update, {stage, stages(), microBatches});
    const std::vector<Slot> slots = slotsOf(schedule, stages(), microBatches);
    program.sendStates();
    for (const Event &event : eventsOf(slots))
      if (event.begins)
        program.run(event.slot->backward, event.slot->stage, event.slot->micro);
      else
        program.sendMade(event.slot->backward, event.slot->stage, event.slot->micro);
    program.update();
    program.finish();
    addStatistic("kedge-unroll-pipeline", "slots", static_cast<int64_t>(slots.size()));
    addStatistic("kedge-unroll-pipeline", "sends", program.sends);
    addStatistic("kedge-unroll-pipeline", "receives", program.receives);
  }

  bool isOwn(StringAttr symbol) {
    auto state = getOperation().lookupSymbol<train::StateOp>(symbol);
    auto of = state ? state->getAttrOfType<IntegerAttr>(dist::pipelineStageName) : IntegerAttr();
    return !of || of.getInt() == stage;
  }

  /// Of a function of states alone.
  void keepOwn(func::FuncOp function) {
    Operation *end = function.getBody().front().getTerminator();
    llvm::BitVector dead(function.getNumResults());
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto state = train::stateOfResult(function, index))
        dead[index] = !isOwn(state.getAttr());
    end->eraseOperands(dead);
    (void)function.eraseResults(dead);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    llvm::BitVector unread(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      unread[argument.getArgNumber()] = argument.use_empty();
    (void)function.eraseArguments(unread);
  }

  void dropStates() {
    llvm::DenseSet<Attribute> held;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        if (auto state = train::stateOfArgument(function, index))
          held.insert(state.getAttr());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        if (auto state = train::stateOfResult(function, index))
          held.insert(state.getAttr());
    for (auto state : llvm::to_vector(getOperation().getOps<train::StateOp>()))
      if (held.contains(state.getSymNameAttr())) {
        state->removeAttr(dist::pipelineStageName);
      } else {
        addStatistic("kedge-unroll-pipeline", "states elsewhere", 1);
        state.erase();
      }
  }
};
} // namespace
} // namespace kedge::pipeline
