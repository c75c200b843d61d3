#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Support/Assert.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Pipeline/ForwardProgram.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/Schedule.h"
#include "passes/Pipeline/StageProgram.h"
#include "passes/Pipeline/UnrollChecks.h"

namespace kedge::pipeline {
#define GEN_PASS_DEF_UNROLLPIPELINE
#include "passes/Pipeline/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

constexpr StringLiteral kInPipeline = "in a pipeline";

/// A slot begins, or what it has made is sent.
struct Event {
  double time;
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

  void run() override {
    getOperation()->removeAttr(dist::annotationsName); // followed
    auto micro = train::functionOf(getOperation(), FunctionKind::Micro);
    auto update = train::functionOf(getOperation(), FunctionKind::Update);
    if (!micro || !update) {
      getOperation().emitError("has no @micro with @update to unroll into the step of a stage");
      return signalPassFailure();
    }
    if (failed(checkOptions()) || failed(checkRows(micro, kInPipeline)) ||
        failed(checkResults(micro, kInPipeline)) || failed(checkResults(update, kInPipeline)))
      return signalPassFailure();
    const Schedule chosen = *Schedule::parse(schedule);
    PipelineWork work{stages(), microBatches, {}, bytesOfStates()};
    const FailureOr<std::vector<Slot>> slots = timedSlots(micro, chosen, work);
    if (failed(slots))
      return signalPassFailure();
    const StageParts parts(micro, stages(), ranksApart(*slots, stages()));
    StageProgram training(micro, update, parts, {stage, stages(), microBatches});
    write(*slots, training);
    getOperation()->setAttr(dist::timetableName, timetableOf(*slots, work, parts));
    const bool lossIsMean = !train::NominalItemsNote(&getContext()).isAttrPresent(micro);
    for (FunctionKind kind : {FunctionKind::Eval, FunctionKind::Predict})
      if (auto function = train::functionOf(getOperation(), kind)) {
        if (failed(checkRows(function, kInPipeline)))
          return signalPassFailure();
        ForwardProgram(function, training, {stage, stages(), microBatches}).write(lossIsMean);
      }
    micro.erase();
    update.erase();
    for (FunctionKind kind : {FunctionKind::Init, FunctionKind::Restore})
      if (auto function = train::functionOf(getOperation(), kind))
        keepOwn(function);
    keepStates(training);
  }

  int64_t stages() {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::meshName);
    return mesh ? std::max<int64_t>(1, mesh.sizeOf(dist::pipelineAxis)) : 1;
  }

  LogicalResult checkOptions() {
    if (!Schedule::parse(schedule))
      return getOperation().emitError()
             << "unknown schedule '" << schedule.getValue()
             << "' of a pipeline: expected gpipe, 1f1b, interleaved=V with V of 2 or more, or zero-bubble";
    if (stage < 0 || stage >= stages())
      return getOperation().emitError()
             << "has no stage " << stage.getValue() << ": expected one from 0 to " << stages() - 1;
    if (microBatches < 1)
      return getOperation().emitError()
             << "has " << microBatches.getValue() << " micro-batches a step, expected 1 or more";
    return success();
  }

  /// Of all ranks, by the seconds that the device model predicts; `work` learns these.
  FailureOr<std::vector<Slot>> timedSlots(func::FuncOp micro, const Schedule &chosen, PipelineWork &work) {
    StageParts whole(micro, stages(), std::vector<bool>(stages(), chosen.runsWeightsApart()));
    analysis::OpSeconds seconds(device);
    work.stages = whole.workOf(stages() * chosen.chunks, seconds);
    return slotsOf(chosen, work);
  }

  /// By rank.
  std::vector<double> bytesOfStates() {
    std::vector<double> bytes(stages(), 0);
    for (auto state : getOperation().getOps<train::StateOp>())
      if (const int64_t of = StageParts::stageOf(state); of >= 0)
        bytes[of % stages()] += static_cast<double>(kedge::bytesOf(state.getType()));
    return bytes;
  }

  void write(const std::vector<Slot> &slots, StageProgram &program) {
    program.sendStates();
    for (const Event &event : eventsOf(slots))
      if (event.begins)
        program.run(*event.slot);
      else
        program.sendMade(*event.slot);
    program.update();
    program.finish();
    addStatistic("slots", static_cast<int64_t>(slots.size()));
    addStatistic("sends", program.sends);
    addStatistic("receives", program.receives);
  }

  /// In the order of their forward ops.
  ArrayAttr modulesOf(const StageParts &parts, int64_t stage) {
    llvm::SetVector<Attribute> modules;
    for (Operation *op : parts.opsOf(stage, Part::Forward))
      if (PlaceAttr place = placeOf(op); place && !place.getModule().empty())
        modules.insert(StringAttr::get(&getContext(), place.getModule()));
    return ArrayAttr::get(&getContext(), modules.getArrayRef());
  }

  dist::TimetableAttr timetableOf(const std::vector<Slot> &slots, const PipelineWork &work,
                                  const StageParts &parts) {
    Builder builder(&getContext());
    SmallVector<double> seconds;
    SmallVector<Attribute> modules;
    for (auto [stage, each] : llvm::enumerate(work.stages)) {
      seconds.push_back(each.forward + each.backward + each.weights);
      modules.push_back(modulesOf(parts, static_cast<int64_t>(stage)));
    }
    SmallVector<dist::SlotAttr> times;
    for (const Slot &slot : slots)
      times.push_back(dist::SlotAttr::get(&getContext(), static_cast<dist::SlotPart>(slot.part), slot.micro,
                                          slot.stage, builder.getF64FloatAttr(slot.begin),
                                          builder.getF64FloatAttr(slot.end)));
    return dist::TimetableAttr::get(&getContext(), builder.getStringAttr(schedule),
                                    builder.getDenseF64ArrayAttr(seconds), builder.getArrayAttr(modules),
                                    times);
  }

  bool isOwn(StringAttr symbol) {
    auto state = getOperation().lookupSymbol<train::StateOp>(symbol);
    auto of = state ? state->getAttrOfType<IntegerAttr>(dist::pipelineStageName) : IntegerAttr();
    return !of || of.getInt() % stages() == stage || state.getRole() == train::Role::Scaler;
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

  llvm::DenseSet<Attribute> statesOfFunctions() {
    llvm::DenseSet<Attribute> held;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        if (auto state = train::stateOfArgument(function, index))
          held.insert(state.getAttr());
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        if (auto state = train::stateOfResult(function, index))
          held.insert(state.getAttr());
    }
    return held;
  }

  /// What files hold is known to all stages; the rest is where it is used.
  static bool isInFiles(train::StateOp state) {
    return !llvm::is_contained(
        {train::Role::Constant, train::Role::Accumulator, train::Role::WorkingCopy, train::Role::Scaler},
        state.getRole());
  }

  void keepStates(const StageProgram &training) {
    const llvm::DenseSet<Attribute> used = statesOfFunctions();
    for (auto state : llvm::to_vector(getOperation().getOps<train::StateOp>())) {
      const SmallVector<int64_t> holding = training.stagesHolding(state.getSymNameAttr());
      state->removeAttr(dist::pipelineStageName);
      const bool isUsed = used.contains(state.getSymNameAttr());
      if (!isInFiles(state)) {
        if (!isUsed)
          state.erase();
        continue;
      }
      KEDGE_ASSERT(!isUsed || llvm::is_contained(holding, stage.getValue()));
      setHolders(state, holding);
    }
  }

  void setHolders(train::StateOp state, ArrayRef<int64_t> holding) {
    auto whole = dist::ShardingAttr::get(&getContext(), state.wholeType().getShape(),
                                         ArrayRef<dist::CutAttr>(), StringAttr(), 1, holding, stage);
    const dist::ShardingAttr sharding = state.getSharding() ? state.getSharding()->on(holding, stage) : whole;
    const RankedTensorType part = sharding.partOf(state.wholeType());
    state.setShardingAttr(sharding);
    state.setType(part);
    if (!sharding.isHere())
      addStatistic("states elsewhere", 1);
  }
};
} // namespace
} // namespace kedge::pipeline
