#include "FunctionPlan.h"
#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Analysis/Reservations.h"
#include "kedge/Analysis/StepCost.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Solver/Arena/ArenaPacking.h"
#include "kedge/Support/Statistics.h"
#include "passes/Memory/Passes.h"
#include "runtime/exec/Executor.h"

namespace kedge::memory {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  using Base::Base;
  /// Bytes that keep their content between functions, of one arena.
  struct Persistent {
    llvm::StringMap<int64_t> offsets;
    int64_t bytes = 0;
  };
  Persistent device, host;
  ConstantTable constants;
  std::string target = "cpu";
  int64_t alignment = 1;

  int64_t aligned(int64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }

  void runOnOperation() override {
    std::vector<FunctionPlan> plans;
    int teamSize = threads > 0 ? threads.getValue() : rt::physicalCores();
    target = analysis::targetOf(getOperation()).str();
    alignment = analysis::arenaAlignment(getOperation());
    auto workspaceOf = [&](Operation *op) { return analysis::workspaceOf(op, teamSize); };
    placeStates();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function.isPrivate())
        continue;
      FailureOr<FunctionPlan> plan = planFunction(function, constants, workspaceOf);
      if (failed(plan))
        return signalPassFailure();
      plans.push_back(std::move(*plan));
    }
    int64_t transient = 0, hostTransient = 0;
    // Scalars side by side: a device gets them in one copy.
    for (FunctionPlan &plan : plans)
      placePersistent(plan, [](StringRef key) { return key.starts_with("scalar:"); });
    for (FunctionPlan &plan : plans)
      placePersistent(plan, [](StringRef) { return true; });
    for (FunctionPlan &plan : plans) {
      transient = std::max(transient, plan.transientBytes = pack(plan, /*onHost=*/false));
      hostTransient = std::max(hostTransient, plan.hostTransientBytes = pack(plan, /*onHost=*/true));
    }
    emitConstants();
    recordOffsets();
    emit(plans, transient, hostTransient);
  }

  int64_t persistentPlace(StringRef key, int64_t bytes, bool onHost) {
    Persistent &region = onHost ? host : device;
    auto [entry, isNew] = region.offsets.try_emplace(key, region.bytes);
    if (isNew)
      region.bytes += aligned(bytes);
    return entry->second;
  }

  int64_t statePlace(train::StateOp state) {
    return persistentPlace("state:" + state.getSymName().str(), sched::bytesOf(state.getType()),
                           state->hasAttr("sched.host"));
  }

  /// Every state has its place, in the order of the module, whether a function reads it or not.
  void placeStates() {
    for (auto state : getOperation().getOps<train::StateOp>())
      statePlace(state);
  }

  void placePersistent(FunctionPlan &plan, function_ref<bool(StringRef)> wanted) {
    for (PlannedBuffer &buffer : plan.buffers)
      if (buffer.persistent && wanted(buffer.key))
        buffer.offset = persistentPlace(buffer.key, buffer.bytes, buffer.host);
  }

  /// Offsets of the function's transient buffers in one of the arenas; how high they reach.
  int64_t pack(FunctionPlan &plan, bool onHost) {
    std::vector<solver::Buffer> transients;
    auto belongs = [&](const PlannedBuffer &buffer) { return !buffer.persistent && buffer.host == onHost; };
    for (const PlannedBuffer &buffer : plan.buffers)
      if (belongs(buffer))
        transients.push_back({buffer.first, buffer.last + 1, buffer.bytes});
    if (onHost && transients.empty())
      return 0;
    solver::Packing packing = solver::packArena(transients, alignment);
    size_t next = 0;
    for (PlannedBuffer &buffer : plan.buffers)
      if (belongs(buffer))
        buffer.offset = (onHost ? host : device).bytes + packing.offsets[next++];
    if (!onHost) {
      addStatistic("kedge-plan-memory", "buffers reused in place", plan.reusedInPlace);
      addStatistic("kedge-plan-memory", "bytes over the largest live set", packing.height - packing.load);
    }
    return packing.height;
  }

  void emitConstants() {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    for (auto &[value, name] : constants)
      train::StateOp::create(builder, getOperation().getLoc(), builder.getStringAttr(name),
                             train::RoleAttr::get(&getContext(), train::Role::Constant),
                             TypeAttr::get(cast<ElementsAttr>(value).getShapedType()), value, StringAttr(),
                             FlatSymbolRefAttr(), DenseI64ArrayAttr(), builder.getBoolAttr(true),
                             builder.getF64FloatAttr(1.0));
  }

  /// A state's place is known even when no function reads it.
  void recordOffsets() {
    for (auto state : getOperation().getOps<train::StateOp>()) {
      state->setAttr("exec.offset", IntegerAttr::get(IntegerType::get(&getContext(), 64), statePlace(state)));
    }
  }

  void emit(std::vector<FunctionPlan> &plans, int64_t transient, int64_t hostTransient) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    Location loc = getOperation().getLoc();
    auto arena = exec::ArenaOp::create(builder, loc, device.bytes + transient, device.bytes, alignment);
    arena->setAttr("reservations", reservations(builder));
    if (host.bytes + hostTransient > 0)
      exec::HostArenaOp::create(builder, loc, host.bytes + hostTransient, host.bytes, alignment);
    for (FunctionPlan &plan : plans) {
      emitFunction(builder, plan);
      plan.function.erase();
    }
    addStatistic("kedge-plan-memory", "arena bytes", device.bytes + transient);
    addStatistic("kedge-plan-memory", "persistent bytes", device.bytes);
    addStatistic("kedge-plan-memory", "host bytes", host.bytes + hostTransient);
  }

  Attribute reservations(Builder &builder) {
    SmallVector<Attribute> list;
    for (const analysis::Reservation &entry : analysis::reservationsOf(target, threads > 0 ? threads.getValue() : rt::physicalCores()))
      list.push_back(builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(entry.name)),
                                                builder.getNamedAttr("bytes", builder.getI64IntegerAttr(entry.bytes)),
                                                builder.getNamedAttr("source", builder.getStringAttr(entry.source))}));
    return builder.getArrayAttr(list);
  }

  void emitFunction(OpBuilder &builder, FunctionPlan &plan) {
    OpBuilder::InsertionGuard guard(builder);
    auto function = exec::FunctionOp::create(builder, plan.function.getLoc(), plan.function.getName());
    builder.setInsertionPointToStart(&function.getBody().emplaceBlock());
    SmallVector<Value> values;
    for (const PlannedBuffer &buffer : plan.buffers)
      values.push_back(emitBuffer(builder, plan.function.getLoc(), buffer));
    for (const PlannedLaunch &launch : plan.launches)
      emitLaunch(builder, launch, values);
    for (const PlannedGradient &gradient : plan.gradients)
      exec::GradientOp::create(builder, plan.function.getLoc(), gradient.parameter, values[gradient.buffer],
                               gradient.after, gradient.type);
  }

  Value emitBuffer(OpBuilder &builder, Location loc, const PlannedBuffer &buffer) {
    FlatSymbolRefAttr state;
    SmallVector<StringRef> bindings(buffer.bindings.begin(), buffer.bindings.end());
    StringRef key = buffer.key;
    if (key.consume_front("state:"))
      state = FlatSymbolRefAttr::get(&getContext(), key);
    else if (!key.empty())
      bindings.push_back(key);
    auto op = exec::BufferOp::create(builder, loc, builder.getIndexType(), buffer.name, buffer.offset, buffer.bytes, buffer.first,
                                     buffer.last, buffer.type, state,
                                     bindings.empty() ? ArrayAttr() : builder.getStrArrayAttr(bindings), buffer.host);
    if (buffer.part) {
      op->setAttr("part", buffer.part);
      op->setAttr("whole", buffer.whole);
    }
    return op;
  }

  void emitLaunch(OpBuilder &builder, const PlannedLaunch &launch, ArrayRef<Value> values) {
    auto pick = [&](ArrayRef<size_t> indices) {
      SmallVector<Value> picked;
      for (size_t index : indices)
        picked.push_back(values[index]);
      return picked;
    };
    Operation *op = launch.op;
    auto library = dyn_cast<sched::LibraryOp>(op);
    auto kernel = op->getAttrOfType<StringAttr>("kedge.kernel");
    auto number = [&](StringRef name, int64_t otherwise) {
      auto attr = op->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : otherwise;
    };
    bool isCopy = isa<sched::OffloadOp, sched::FetchOp>(op);
    StringRef name = library ? library.getKernel() : isCopy ? "copy" : kernel ? kernel.getValue() : "cluster";
    auto emitted = exec::LaunchOp::create(builder, op->getLoc(), name,
                           pick(launch.reads), pick(launch.writes), launch.workspace < 0 ? Value() : values[launch.workspace],
                           number("kedge.iterations", 0), number("kedge.grain", 1), 0,
                           builder.getTypeArrayAttr(llvm::to_vector(op->getOperandTypes())),
                           builder.getTypeArrayAttr(llvm::to_vector(op->getResultTypes())), library || isCopy,
                           library ? library.getAttrs() : DictionaryAttr(), DenseI64ArrayAttr(), IntegerAttr());
    setPlace(emitted, placeOf(op));
    for (StringRef name : {"recomputed", "offloaded", "cuda.kernels", "cuda.flat", analysis::kLaunchRows})
      if (Attribute kept = op->getAttr(name))
        emitted->setAttr(name, kept);
  }
};
} // namespace
} // namespace kedge::memory
