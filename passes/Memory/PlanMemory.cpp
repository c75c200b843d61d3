#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/PersistentRegion.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Analysis/StepCost.h"
#include "lib/Solver/Arena/PackingMemo.h"
#include "passes/Memory/FunctionPlan.h"
#include "passes/Memory/Passes.h"

namespace kedge::memory {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

/// Of copies that run aside, in one direction. Where so much room makes packing
/// worse, less.
constexpr int64_t kBytesUnderWay[] = {int64_t(1) << 30, int64_t(1) << 27, int64_t(1) << 24};

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  using Base::Base;
  std::optional<analysis::PersistentRegion> region; ///< what keeps its content between functions
  ConstantTable constants;
  TargetKind target = TargetKind::Cpu;
  int64_t alignment = 1;

  void run() override {
    std::vector<FunctionPlan> plans;
    target = targetOf(getOperation());
    alignment = analysis::arenaAlignment(getOperation());
    auto workspaceOf = [team = analysis::teamOf(threads)](Operation *op) {
      return analysis::workspaceOf(op, team);
    };
    region.emplace(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function.isPrivate())
        continue;
      FailureOr<FunctionPlan> plan = planFunction(function, constants, workspaceOf);
      if (failed(plan))
        return signalPassFailure();
      if (fits())
        giveTransfersTime(*plan);
      plans.push_back(std::move(*plan));
    }
    int64_t transient = 0, hostTransient = 0;
    // Scalars side by side: a device gets them in one copy.
    for (FunctionPlan &plan : plans)
      placePersistent(plan,
                      [](train::BindingAttr binding) { return binding.is(train::BindingKind::Scalar); });
    for (FunctionPlan &plan : plans)
      placePersistent(plan, [](train::BindingAttr) { return true; });
    for (FunctionPlan &plan : plans) {
      transient = std::max(transient, plan.transientBytes = pack(plan, /*onHost=*/false));
      hostTransient = std::max(hostTransient, plan.hostTransientBytes = pack(plan, /*onHost=*/true));
    }
    emitConstants();
    recordOffsets();
    emit(plans, transient, hostTransient);
  }

  void giveTransfersTime(FunctionPlan &plan) {
    reserve(plan, "buffers with room for collectives", makeRoomForCollectives);
    if (side)
      reserve(plan, "buffers with room for side launches", makeRoomForSideLaunches);
    const CopiesAside which = target == TargetKind::Cpu ? CopiesAside::OfFiles : CopiesAside::All;
    for (const int64_t bytes : kBytesUnderWay)
      if (reserve(plan, "buffers with room for copies",
                  [&](FunctionPlan &plan) { return makeRoomForCopies(plan, which, bytes); }))
        return;
  }

  /// Keeps buffers of transfers reserved for longer, so that other launches run next to them. Undone where it
  /// raises the arena.
  bool reserve(FunctionPlan &plan, Counter statistic, function_ref<int64_t(FunctionPlan &)> makeRoom) {
    std::vector<PlannedBuffer> before = plan.buffers;
    const int64_t held = makeRoom(plan);
    if (held == 0)
      return true;
    const std::vector<solver::Buffer> roomy = transientsOf(plan.buffers, /*onHost=*/false);
    const std::vector<solver::Buffer> tight = transientsOf(before, /*onHost=*/false);
    if (raisesHeight(tight, roomy)) {
      plan.buffers = std::move(before);
      return false;
    }
    addStatistic(statistic, held);
    return true;
  }

  /// Under a budget, room that a quick packing finds no place for is not worth more: most sets have none.
  bool raisesHeight(const std::vector<solver::Buffer> &tight, const std::vector<solver::Buffer> &roomy) {
    const int64_t left = bytesLeft(), load = solver::maxLoad(tight, alignment),
                  roomyLoad = solver::maxLoad(roomy, alignment);
    if (roomyLoad > load && roomyLoad > packed(tight, left).height)
      return true;
    const int64_t height = left > 0 ? solver::PackingMemo::ofProcess().packQuickly(roomy, alignment).height
                                    : packed(roomy, left).height;
    return height > load && height > packed(tight, left).height;
  }

  static std::vector<solver::Buffer> transientsOf(const std::vector<PlannedBuffer> &buffers, bool onHost) {
    std::vector<solver::Buffer> transients;
    for (const PlannedBuffer &buffer : buffers)
      if (!buffer.persistent() && buffer.host == onHost)
        transients.push_back({buffer.first - buffer.room, buffer.last + 1, buffer.bytes});
    return transients;
  }

  /// Packing takes seconds in large models, so equal sets of buffers are packed once.
  solver::Packing packed(const std::vector<solver::Buffer> &transients, int64_t good) {
    return solver::PackingMemo::ofProcess().packWithin(transients, good, alignment);
  }

  bool fits() {
    const sched::RecomputeAttr facts = sched::RecomputeNote(&getContext()).getAttr(getOperation());
    return !facts || facts.getFits().getValue();
  }

  /// What the budget, or where nothing fits the smallest plan, leaves for the device's transient buffers; 0:
  /// there is no budget.
  int64_t bytesLeft() {
    sched::RecomputeAttr facts = sched::RecomputeNote(&getContext()).getAttr(getOperation());
    IntegerAttr budget = facts ? facts.getBudgetBytes() : IntegerAttr();
    if (!budget)
      return 0;
    if (!facts.getFits().getValue())
      budget = facts.getSmallestFeasibleBytes();
    return std::max<int64_t>(0, budget.getInt() - analysis::heldBytes(getOperation(), threads));
  }

  void placePersistent(FunctionPlan &plan, function_ref<bool(train::BindingAttr)> wanted) {
    for (PlannedBuffer &buffer : plan.buffers)
      if (buffer.persistent() && wanted(buffer.binding))
        buffer.offset = region->place(buffer.binding, plan.function.getSymNameAttr(), buffer.type);
  }

  /// Offsets of the function's transient buffers in one of the arenas; how high they reach.
  int64_t pack(FunctionPlan &plan, bool onHost) {
    const std::vector<solver::Buffer> transients = transientsOf(plan.buffers, onHost);
    if (onHost && transients.empty())
      return 0;
    const solver::Packing packing = packed(transients, onHost ? 0 : bytesLeft());
    size_t next = 0;
    for (PlannedBuffer &buffer : plan.buffers)
      if (!buffer.persistent() && buffer.host == onHost)
        buffer.offset = (onHost ? region->hostBytes() : region->bytes()) + packing.offsets[next++];
    if (!onHost) {
      addStatistic("buffers reused in place", plan.reusedInPlace);
      addStatistic("bytes over the largest live set", packing.height - packing.load);
    }
    return packing.height;
  }

  void emitConstants() {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    for (auto &[value, name] : constants)
      train::StateOp::create(builder, getOperation().getLoc(), builder.getStringAttr(name),
                             train::RoleAttr::get(&getContext(), train::Role::Constant),
                             TypeAttr::get(cast<ElementsAttr>(value).getShapedType()), value, StringAttr(),
                             FlatSymbolRefAttr(), builder.getBoolAttr(true), builder.getF64FloatAttr(1.0));
  }

  /// A state's place is known even when no function reads it.
  void recordOffsets() {
    for (auto state : getOperation().getOps<train::StateOp>()) {
      auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::State, state.getSymName());
      auto offset =
          IntegerAttr::get(IntegerType::get(&getContext(), 64), region->place(binding, {}, state.getType()));
      exec::OffsetNote(&getContext()).setAttr(state, offset);
    }
  }

  void emit(std::vector<FunctionPlan> &plans, int64_t transient, int64_t hostTransient) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    Location loc = getOperation().getLoc();
    exec::ArenaOp::create(builder, loc, region->bytes() + transient, region->bytes(), alignment,
                          reservations(builder));
    if (region->hostBytes() + hostTransient > 0)
      exec::HostArenaOp::create(builder, loc, region->hostBytes() + hostTransient, region->hostBytes(),
                                alignment, files(builder));
    for (const FunctionPlan &plan : plans)
      dropBodies(plan);
    for (FunctionPlan &plan : plans) {
      emitFunction(builder, plan);
      plan.function.erase();
      plan = {};
    }
    addStatistic("arena bytes", region->bytes() + transient);
    addStatistic("persistent bytes", region->bytes());
    addStatistic("host bytes", region->hostBytes() + hostTransient);
  }

  /// Of clusters, whose kernels exist by now if they are wanted: most of a schedule's bytes, in the room of
  /// which level 4 is written.
  static void dropBodies(const FunctionPlan &plan) {
    for (const PlannedLaunch &launch : plan.launches)
      if (auto cluster = dyn_cast<sched::ClusterOp>(launch.op))
        cluster.getBody().getBlocks().clear();
  }

  ArrayAttr files(Builder &builder) {
    SmallVector<Attribute> list;
    for (const analysis::PersistentRegion::File &file : region->files())
      list.push_back(exec::FileAttr::get(&getContext(), file.directory, file.bytes));
    return list.empty() ? ArrayAttr() : builder.getArrayAttr(list);
  }

  ArrayAttr reservations(Builder &builder) {
    SmallVector<Attribute> list;
    for (const analysis::Reservation &entry :
         analysis::reservationsOf(getOperation(), analysis::teamOf(threads)))
      list.push_back(exec::ReservationAttr::get(&getContext(), entry.name, entry.bytes, entry.source));
    return builder.getArrayAttr(list);
  }

  train::FunctionKindAttr kindAttr(func::FuncOp function) {
    std::optional<train::FunctionKind> kind = train::kindOf(function);
    return kind ? train::FunctionKindAttr::get(&getContext(), *kind) : train::FunctionKindAttr();
  }

  void emitFunction(OpBuilder &builder, FunctionPlan &plan) {
    OpBuilder::InsertionGuard guard(builder);
    auto function = exec::FunctionOp::create(builder, plan.function.getLoc(), plan.function.getSymNameAttr(),
                                             kindAttr(plan.function));
    builder.setInsertionPointToStart(&function.getBody().emplaceBlock());
    SmallVector<Value> values;
    values.reserve(plan.buffers.size());
    for (const PlannedBuffer &buffer : plan.buffers)
      values.push_back(emitBuffer(builder, plan.function.getLoc(), buffer));
    for (const PlannedLaunch &launch : plan.launches)
      emitLaunch(builder, launch, values);
    for (const PlannedGradient &gradient : plan.gradients)
      exec::GradientOp::create(builder, plan.function.getLoc(), gradient.parameter, values[gradient.buffer],
                               gradient.after, gradient.type);
  }

  Value emitBuffer(OpBuilder &builder, Location loc, const PlannedBuffer &buffer) {
    FlatSymbolRefAttr state = buffer.isState() ? buffer.binding.getSymbol() : FlatSymbolRefAttr();
    ArrayAttr bindings = buffer.binding && !state ? builder.getArrayAttr({buffer.binding}) : ArrayAttr();
    return exec::BufferOp::create(builder, loc, builder.getIndexType(), buffer.name, buffer.offset,
                                  buffer.bytes, buffer.first, buffer.last,
                                  cast<RankedTensorType>(buffer.type), state, bindings,
                                  buffer.host ? exec::MemorySpace::Host : exec::MemorySpace::Device);
  }

  void emitLaunch(OpBuilder &builder, const PlannedLaunch &launch, ArrayRef<Value> values) {
    auto pick = [&](ArrayRef<size_t> indices) {
      SmallVector<Value> picked;
      for (size_t index : indices)
        picked.push_back(values[index]);
      return picked;
    };
    Operation *op = launch.op;
    Operation *emitted =
        isa<sched::OffloadOp, sched::FetchOp>(op)
            ? emitCopy(builder, op, values[launch.reads.front()], values[launch.writes.front()])
            : emitKernel(builder, op, pick(launch.reads), pick(launch.writes),
                         launch.workspace < 0 ? Value() : values[launch.workspace]);
    setPlace(emitted, placeOf(op));
    copyValueNotes(op, emitted);
    if (RowsNote rows(op->getContext()); rows.isAttrPresent(op))
      rows.setAttr(emitted, rows.getAttr(op));
  }

  static Operation *emitCopy(OpBuilder &builder, Operation *op, Value from, Value to) {
    return exec::CopyOp::create(builder, op->getLoc(), from, to, builder.getI64IntegerAttr(0),
                                DenseI64ArrayAttr(), IntegerAttr(), TypeAttr::get(op->getResult(0).getType()),
                                isa<sched::OffloadOp>(op) ? cast<sched::OffloadOp>(op).getOffloadedAttr()
                                                          : cast<sched::FetchOp>(op).getOffloadedAttr());
  }

  static Operation *emitKernel(OpBuilder &builder, Operation *op, ValueRange reads, ValueRange writes,
                               Value workspace) {
    auto library = dyn_cast<sched::LibraryOp>(op);
    MLIRContext *context = op->getContext();
    StringAttr kernel = sched::KernelNote(context).getAttr(op);
    auto orNumber = [&](IntegerAttr noted, int64_t otherwise) {
      return noted ? noted : builder.getI64IntegerAttr(otherwise);
    };
    auto *linked = library ? linkedKernelOf(context, library.getKernel()) : nullptr;
    const int64_t parts =
        linked ? std::max<int64_t>(1, linked->kernelIterations(library.getAttrs(), op->getOperandTypes(),
                                                               op->getResultTypes()))
               : 0;
    StringAttr name = library ? library.getKernelAttr() : kernel ? kernel : builder.getStringAttr("cluster");
    return exec::LaunchOp::create(
        builder, op->getLoc(), name, reads, writes, workspace,
        orNumber(sched::IterationsNote(context).getAttr(op), parts),
        orNumber(sched::GrainNote(context).getAttr(op), 1), builder.getI64IntegerAttr(0),
        builder.getTypeArrayAttr(llvm::to_vector(op->getOperandTypes())),
        builder.getTypeArrayAttr(llvm::to_vector(op->getResultTypes())),
        library ? builder.getUnitAttr() : UnitAttr(), library ? library.getAttrs() : DictionaryAttr(),
        DenseI64ArrayAttr(), IntegerAttr(),
        library ? library.getRecomputedAttr() : cast<sched::ClusterOp>(op).getRecomputedAttr(),
        sched::KernelsNote(context).getAttr(op), sched::FlatNote(context).getAttr(op),
        library ? library.getCollectiveAttr() : UnitAttr());
  }
};
} // namespace
} // namespace kedge::memory
