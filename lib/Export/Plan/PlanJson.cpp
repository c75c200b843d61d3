#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Export/Plan/HostMemory.h"
#include "lib/Export/Plan/LaunchBytes.h"
#include "lib/Export/Plan/PlanReport.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using analysis::arenaBytes;
using nlohmann::json;

namespace {
struct StateBytes {
  int64_t parameters = 0, frozen = 0, optimizer = 0, accumulators = 0, buffers = 0, constants = 0;
  int64_t workingCopies = 0, scaler = 0;
  int64_t gradients =
      0; ///< the formula, not what is held: accumulators, or of each parameter in the type that it is read in
};

/// A gradient as ZeRO's formulas count it: whole up to stage 1, then a rank's part. `elementSize`: 0 for the
/// type of the state.
int64_t gradientBytes(ModuleOp module, train::StateOp state, int64_t elementSize) {
  RankedTensorType box = state.boxType();
  RankedTensorType held =
      dist::stageOf(module) < 2
          ? box
          : dist::localShardOf(box, dist::partGroup(module, state.getShardingAttr()).ranks);
  return elementSize ? elementSize * held.getNumElements() : bytesOf(held);
}

/// Parameters whose rate or decay is not the program's.
json ratesJson(ModuleOp module) {
  json rates = json::array();
  for (auto state : module.getOps<train::StateOp>()) {
    const double rate = state.getLrScale().convertToDouble(), decay = tune::decayScaleOf(state);
    if (state.getRole() == train::Role::Parameter && (rate != 1 || decay != 1))
      rates.push_back({{"parameter", state.getOnnxName().value_or(state.getSymName()).str()},
                       {"lr_scale", rate},
                       {"decay_scale", decay}});
  }
  return rates;
}

/// `gradientSize`: bytes of a gradient's element; 0: as many as the parameter has where it is read.
StateBytes stateBytes(ModuleOp module, bool onHost, int64_t gradientSize) {
  StateBytes bytes;
  for (auto state : module.getOps<train::StateOp>()) {
    int64_t size = bytesOf(state.getType());
    if (sched::isOnHost(state) != onHost)
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
  // Summed over micro-batches they are states of their own, in a type of their own.
  if (llvm::any_of(module.getOps<train::StateOp>(),
                   [](auto state) { return state.getRole() == train::Role::Accumulator; }))
    bytes.gradients = bytes.accumulators;
  return bytes;
}

/// `bytes` by kind; what is left over are activations.
json breakdownJson(const StateBytes &state, const TransientBytes &transient, int64_t bytes) {
  json breakdown = {{"parameters", state.parameters + state.frozen + transient.parameters},
                    {"working_copies", state.workingCopies},
                    {"gradients", state.accumulators + transient.gradients},
                    {"optimizer", state.optimizer + transient.optimizer},
                    {"buffers", state.buffers + state.constants + state.scaler},
                    {"workspace", transient.workspace},
                    {"communication", transient.communication}};
  int64_t named = 0;
  for (const auto &[name, share] : breakdown.items())
    named += share.get<int64_t>();
  breakdown["activations"] = bytes - named;
  return breakdown;
}

bool isOfStep(exec::FunctionOp function) {
  return function.getKind() == train::FunctionKind::Step || function.getKind() == train::FunctionKind::Update;
}

json functionJson(exec::FunctionOp function, const TransientBytes &fullest, int64_t persistent) {
  return {{"name", function.getSymName().str()},
          {"persistent_bytes", persistent},
          {"transient_peak_bytes", fullest.height},
          {"transient_live_bytes", fullest.live}};
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
    if (!sched::isOnHost(state))
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

StepCounts kedge::exporter::countStep(Operation *function) {
  static const std::map<std::string, std::string> names = {{"train.attention", "attention"},
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
    if (auto chunk = train::ChunkNote(op->getContext()).getAttr(op); chunk && chunk.getInt() > 0)
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

json kedge::exporter::planReport(ModuleOp module, const StepCounts &counts) {
  int64_t arena = 0, persistent = 0;
  for (auto op : module.getOps<exec::ArenaOp>())
    arena = op.getBytes(), persistent = op.getPersistent();
  json reservations = reservationsJson(module);
  int64_t peak = arena;
  for (const json &entry : reservations)
    peak += entry["bytes"].get<int64_t>();
  StateBytes state = stateBytes(module, /*onHost=*/false, counts.gradientSize);
  StateBytes host = stateBytes(module, /*onHost=*/true, counts.gradientSize);
  TransientBytes fullest;
  json functions = json::array();
  for (auto function : module.getOps<exec::FunctionOp>()) {
    TransientBytes candidate = fullestLaunch(function, persistent);
    functions.push_back(functionJson(function, candidate, persistent));
    if (candidate.height > fullest.height)
      fullest = candidate;
  }
  json breakdown = breakdownJson(state, fullest, arena);
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
                 {"functions", functions},
                 {"reservations", reservations},
                 {"recompute", {{"ops", 0}, {"flops", 0}, {"overhead", 0.0}, {"lower_bound", 0.0}}},
                 {"communication", json::array()},
                 {"composites", counts.composites},
                 {"casts", counts.casts}};
  for (auto function : module.getOps<exec::FunctionOp>())
    if (std::optional<TransientBytes> update = atUpdate(module, function, persistent);
        update && isOfStep(function))
      report["update_breakdown"] = breakdownJson(state, *update, persistent + update->live);
  addHostFacts(report, module);
  addRecomputeFacts(report, module);
  if (json rates = ratesJson(module); !rates.empty())
    report["rates"] = std::move(rates);
  return report;
}

/// "persistent.wte.weight"; a place without a name is named by its offset. Commas would end the field.
static std::string persistentId(const std::map<int64_t, std::string> &tensors, int64_t offset) {
  auto found = tensors.find(offset);
  std::string id =
      fmt::format("persistent.{}", found == tensors.end() ? std::to_string(offset) : found->second);
  return id.find_first_of(",\"\n") == std::string::npos ? id : fmt::format("persistent.{}", offset);
}

std::string kedge::exporter::arenaTable(ModuleOp module) {
  int64_t persistent = 0, time = 0;
  for (auto op : module.getOps<exec::ArenaOp>())
    persistent = op.getPersistent();
  std::map<int64_t, int64_t> persistentSizes; // offset -> bytes, each place once
  std::map<int64_t, std::string> tensors;     // whose place it is
  for (auto state : module.getOps<train::StateOp>())
    if (!sched::isOnHost(state) && bytesOf(state.getType()) > 0) {
      const int64_t offset = exec::OffsetNote(state.getContext()).getAttr(state).getInt();
      persistentSizes[offset] = bytesOf(state.getType());
      tensors[offset] = state.getSymName().str();
    }
  std::string rows;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    int64_t launches = llvm::range_size(function.getBody().getOps<exec::LaunchInterface>()), id = 0;
    for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
      if (buffer.getHost())
        continue;
      if (!isTransient(buffer, persistent)) {
        auto &bytes = persistentSizes[buffer.getOffset()];
        bytes = std::max<int64_t>(bytes, buffer.getSize());
        tensors.try_emplace(buffer.getOffset(), buffer.getName().str()); // scalars and results
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
    table += fmt::format("{},0,{},{},{}\n", persistentId(tensors, offset), time, arenaBytes(module, bytes),
                         offset);
  return table + rows;
}
