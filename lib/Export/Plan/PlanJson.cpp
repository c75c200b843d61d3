#include "HostMemory.h"
#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Export/Plan/PlanReport.h"
#include "kedge/Support/StorageBytes.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;
using namespace kedge;
using analysis::arenaBytes;
using nlohmann::json;

namespace {
bool isTransient(exec::BufferOp buffer, int64_t persistentBytes) {
  return !buffer.getHost() && static_cast<int64_t>(buffer.getOffset()) >= persistentBytes;
}

/// Bytes of a function's transient buffers at its fullest launch, by kind. Parameters and optimizer: states
/// that live in host memory and are here for a while. `live`: all of them; `height`: how high the function's
/// buffers reach.
struct Fullest {
  int64_t gradients = 0, workspace = 0, communication = 0, parameters = 0, optimizer = 0, live = 0, height = 0;
};

int64_t &shareOf(Fullest &bytes, train::Role role) {
  bool isParameter = role == train::Role::Parameter || role == train::Role::Frozen;
  return isParameter                        ? bytes.parameters
         : role == train::Role::Accumulator ? bytes.gradients
                                            : bytes.optimizer;
}

int64_t transientHeight(exec::FunctionOp function, int64_t persistent) {
  int64_t height = 0;
  for (auto buffer : function.getBody().getOps<exec::BufferOp>())
    if (isTransient(buffer, persistent))
      height =
          std::max<int64_t>(height, buffer.getOffset() + arenaBytes(buffer, buffer.getSize()) - persistent);
  return height;
}

/// What ranks gather, and the scratch of collectives, is there to be sent; gathered gradients are gradients. What a
/// reduction reads is a gradient as long as stages keep gradients whole, then it is on its way.
void noteCollectives(exec::FunctionOp function, llvm::DenseSet<Operation *> &gradients, llvm::DenseSet<Operation *> &sent) {
  bool keepsWhole = dist::stageOf(function->getParentOfType<ModuleOp>()) < 2;
  llvm::DenseSet<Operation *> reduced;
  for (auto launch : function.getBody().getOps<exec::LaunchOp>()) {
    if (!launch.getCollective())
      continue;
    if (launch.getWorkspace())
      sent.insert(launch.getWorkspace().getDefiningOp());
    bool reduces = launch.getKernel() == "dist.reduce_scatter";
    for (auto [index, value] : llvm::enumerate(reduces ? launch.getReads() : launch.getWrites())) {
      bool isGradient = reduces ? keepsWhole : index < launch.getReads().size() && reduced.contains(launch.getReads()[index].getDefiningOp());
      (isGradient ? gradients : sent).insert(value.getDefiningOp());
    }
    if (reduces)
      for (Value part : launch.getWrites())
        reduced.insert(part.getDefiningOp());
  }
}

Fullest fullestLaunch(exec::FunctionOp function, int64_t persistent) {
  llvm::DenseSet<Operation *> gradients;
  for (auto gradient : function.getBody().getOps<exec::GradientOp>())
    gradients.insert(gradient.getBuffer().getDefiningOp());
  llvm::DenseSet<Operation *> sent;
  noteCollectives(function, gradients, sent);
  llvm::DenseMap<Operation *, train::StateOp> states = statesInTransit(function);
  int64_t launches = llvm::range_size(function.getBody().getOps<exec::LaunchInterface>());
  std::vector<Fullest> at(launches + 2);
  std::vector<int64_t> load(launches + 2);
  for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
    if (!isTransient(buffer, persistent))
      continue;
    const int64_t bytes = arenaBytes(buffer, buffer.getSize());
    for (int64_t k = buffer.getFirst(); k <= static_cast<int64_t>(buffer.getLast()); ++k) {
      load[k + 1] += bytes;
      if (sent.contains(buffer))
        at[k + 1].communication += bytes;
      else if (buffer.getName() == "workspace")
        at[k + 1].workspace += bytes;
      else if (train::StateOp state = states.lookup(buffer))
        shareOf(at[k + 1], state.getRole()) += bytes;
      else if (gradients.contains(buffer))
        at[k + 1].gradients += bytes;
    }
  }
  auto most = std::max_element(load.begin(), load.end());
  Fullest fullest = at[most - load.begin()];
  fullest.live = *most;
  fullest.height = transientHeight(function, persistent);
  return fullest;
}

struct StateBytes {
  int64_t parameters = 0, frozen = 0, optimizer = 0, accumulators = 0, buffers = 0, constants = 0;
  int64_t workingCopies = 0, scaler = 0;
  int64_t gradients = 0; ///< of the parameters, each in the type that it is read in: the formula, not what is held
};

/// A gradient as ZeRO's formulas count it: whole up to stage 1, then a rank's part. `elementSize`: 0 for the type of the state.
int64_t gradientBytes(ModuleOp module, train::StateOp state, int64_t elementSize) {
  RankedTensorType whole = state.wholeType();
  RankedTensorType held = dist::stageOf(module) < 2 ? whole : dist::shardOf(whole, dist::dataRanks(module));
  return elementSize ? elementSize * held.getNumElements() : bytesOf(held);
}

/// `gradientSize`: bytes of a gradient's element; 0: as many as the parameter has where it is read.
StateBytes stateBytes(ModuleOp module, bool onHost, int64_t gradientSize) {
  StateBytes bytes;
  for (auto state : module.getOps<train::StateOp>()) {
    int64_t size = bytesOf(state.getType());
    if (state->hasAttr("sched.host") != onHost)
      continue;
    switch (state.getRole()) {
    case train::Role::Parameter:
      bytes.parameters += size;
      bytes.gradients += gradientBytes(module, state, gradientSize);
      break;
    case train::Role::WorkingCopy:
      bytes.workingCopies += size;
      if (gradientSize)
        break;
      if (auto master = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(state, state.getOfAttr());
          master && master.getRole() == train::Role::Parameter)
        bytes.gradients -= gradientBytes(module, master, 0) - gradientBytes(module, state, 0);
      break;
    case train::Role::Frozen:
      bytes.frozen += size;
      break;
    case train::Role::Accumulator:
      bytes.accumulators += size;
      break;
    case train::Role::Buffer:
      bytes.buffers += size;
      break;
    case train::Role::Scaler:
      bytes.scaler += size;
      break;
    case train::Role::Constant:
      bytes.constants += size;
      break;
    default:
      bytes.optimizer += size;
      break;
    }
  }
  return bytes;
}

json functionsJson(ModuleOp module, int64_t persistent) {
  json list = json::array();
  for (auto function : module.getOps<exec::FunctionOp>()) {
    Fullest fullest = fullestLaunch(function, persistent);
    list.push_back({{"name", function.getSymName().str()},
                    {"persistent_bytes", persistent},
                    {"transient_peak_bytes", fullest.height},
                    {"transient_live_bytes", fullest.live}});
  }
  return list;
}

json reservationsJson(ModuleOp module) {
  json list = json::array();
  for (auto arena : module.getOps<exec::ArenaOp>())
    if (ArrayAttr reservations = arena.getReservationsAttr())
      for (auto entry : reservations.getAsRange<exec::ReservationAttr>())
        list.push_back({{"name", entry.getName().str()},
                        {"bytes", entry.getBytes()},
                        {"source", entry.getSource().str()}});
  return list;
}

int64_t paddingBytes(ModuleOp module) {
  int64_t padding = 0;
  for (auto state : module.getOps<train::StateOp>())
    if (!state->hasAttr("sched.host"))
      padding += arenaBytes(state, bytesOf(state.getType())) - bytesOf(state.getType());
  return padding;
}
} // namespace

/// A cast of forward or backward: from there on, a parameter's gradient is the optimizer's.
static bool isFloatCast(Operation *op) {
  auto cast = dyn_cast<onnx::CastOp>(op);
  return cast && isa<FloatType>(elementOf(cast.getX())) && isa<FloatType>(elementOf(cast.getResult())) &&
         llvm::none_of(cast.getX().getUsers(), llvm::IsaPred<train::FinalGradientOp>);
}

StepCounts kedge::countStep(Operation *function) {
  static const std::map<std::string, std::string> names = {{"train.Attention", "attention"},
                                                           {"onnx.Attention", "attention"},
                                                           {"onnx.LayerNormalization", "layer_norm"},
                                                           {"onnx.RMSNormalization", "rms_norm"},
                                                           {"onnx.GroupNormalization", "group_norm"},
                                                           {"onnx.InstanceNormalization", "instance_norm"},
                                                           {"onnx.Gelu", "gelu"},
                                                           {"onnx.Swish", "silu"},
                                                           {"train.swiglu", "swiglu"},
                                                           {"train.rotary", "rotary_embedding"},
                                                           {"onnx.RotaryEmbedding", "rotary_embedding"},
                                                           {"train.cross_entropy", "cross_entropy"},
                                                           {"onnx.SoftmaxCrossEntropyLoss", "cross_entropy"}};
  StepCounts counts;
  function->walk([&](Operation *op) {
    // One loss in chunks is one loss.
    if (auto chunk = op->getAttrOfType<IntegerAttr>("train.chunk"); chunk && chunk.getInt() > 0)
      return;
    PlaceAttr place = placeOf(op);
    bool updates = place && place.getPhase() == TrainingPhase::Update;
    if (isFloatCast(op) && !updates)
      ++counts.casts;
    // The gradient of a rotation is a rotation: what differentiation built is not the architecture's.
    if (place && place.getPhase() == TrainingPhase::Backward)
      return;
    if (auto found = names.find(op->getName().getStringRef().str()); found != names.end())
      ++counts.composites[found->second];
  });
  return counts;
}

json kedge::planReport(ModuleOp module, const StepCounts &counts) {
  int64_t arena = 0, persistent = 0;
  for (auto op : module.getOps<exec::ArenaOp>())
    arena = op.getBytes(), persistent = op.getPersistent();
  json reservations = reservationsJson(module);
  int64_t peak = arena;
  for (const json &entry : reservations)
    peak += entry["bytes"].get<int64_t>();
  StateBytes state = stateBytes(module, /*onHost=*/false, counts.gradientSize);
  StateBytes host = stateBytes(module, /*onHost=*/true, counts.gradientSize);
  Fullest fullest;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    Fullest candidate = fullestLaunch(function, persistent);
    if (candidate.height > fullest.height)
      fullest = candidate;
  }
  json breakdown = {{"parameters", state.parameters + state.frozen + fullest.parameters},
                    {"working_copies", state.workingCopies},
                    {"gradients", state.accumulators + fullest.gradients},
                    {"optimizer", state.optimizer + fullest.optimizer},
                    {"buffers", state.buffers + state.constants + state.scaler},
                    {"workspace", fullest.workspace},
                    {"communication", fullest.communication}};
  int64_t named = 0;
  for (const auto &[name, bytes] : breakdown.items())
    named += bytes.get<int64_t>();
  breakdown["activations"] = arena - named;
  json report = {{"schema", 1},
                 {"fits", true},
                 {"budget_bytes", nullptr},
                 {"peak_bytes", peak},
                 {"unconstrained_peak_bytes", peak},
                 {"unconstrained_transient_bytes", arena - persistent},
                 {"smallest_feasible_bytes", peak},
                 {"arena_bytes", arena},
                 {"host_bytes", 0},
                 {"padding_bytes", paddingBytes(module)},
                 {"state_bytes",
                  {{"parameters", state.parameters + state.frozen + host.parameters + host.frozen},
                   {"working_copies", state.workingCopies + host.workingCopies},
                   {"gradients", state.gradients + host.gradients},
                   {"optimizer", state.optimizer + host.optimizer},
                   {"buffers", state.buffers},
                   {"scaler", state.scaler}}},
                 {"peak_breakdown", breakdown},
                 {"functions", functionsJson(module, persistent)},
                 {"reservations", reservations},
                 {"recompute", {{"ops", 0}, {"flops", 0}, {"overhead", 0.0}, {"lower_bound", 0.0}}},
                 {"communication", json::array()},
                 {"composites", counts.composites},
                 {"casts", counts.casts}};
  addHostFacts(report, module);
  addRecomputeFacts(report, module);
  return report;
}

std::string kedge::arenaTable(ModuleOp module) {
  int64_t persistent = 0, time = 0;
  for (auto op : module.getOps<exec::ArenaOp>())
    persistent = op.getPersistent();
  std::map<int64_t, int64_t> persistentSizes; // offset -> bytes, each place once
  for (auto state : module.getOps<train::StateOp>())
    if (!state->hasAttr("sched.host"))
      persistentSizes[state->getAttrOfType<IntegerAttr>("exec.offset").getInt()] = bytesOf(state.getType());
  std::string rows;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    int64_t launches = llvm::range_size(function.getBody().getOps<exec::LaunchInterface>()), id = 0;
    for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
      if (buffer.getHost())
        continue;
      if (!isTransient(buffer, persistent)) {
        auto &bytes = persistentSizes[buffer.getOffset()];
        bytes = std::max<int64_t>(bytes, buffer.getSize());
        continue;
      }
      rows += fmt::format("{}.{},{},{},{},{}\n", function.getSymName().str(), id++,
                          time + 1 + static_cast<int64_t>(buffer.getFirst()),
                          time + 2 + static_cast<int64_t>(buffer.getLast()),
                          arenaBytes(buffer, buffer.getSize()), static_cast<int64_t>(buffer.getOffset()));
    }
    time += launches + 2;
  }
  std::string table = "id,lower,upper,size,offset\n";
  for (auto [offset, bytes] : persistentSizes)
    table += fmt::format("persistent.{},0,{},{},{}\n", offset, time, arenaBytes(module, bytes), offset);
  return table + rows;
}
