#include "lib/Export/Program/ProgramJson.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "kedge/abi/LossNames.h"
#include "kedge/abi/ProgramKeys.h"
#include "kedge/abi/Streams.h"
#include "lib/Export/Program/ProgramStates.h"
#include "lib/Support/AttrJson.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;
namespace key = kedge::abi::key;

namespace {
using exec::bufferOf;

bool isBackward(Operation *op) {
  PlaceAttr place = placeOf(op);
  return place && place.getPhase() == TrainingPhase::Backward;
}

/// "h.0.attn (backward)"
std::string placeText(Operation *op) {
  PlaceAttr place = placeOf(op);
  if (!place)
    return "";
  return place.in(TrainingPhase::Forward).label().str() + (isBackward(op) ? " (backward)" : "");
}

json descriptions(ArrayAttr types) {
  json list = json::array();
  for (Attribute type : types)
    list.push_back(tensorDescription(cast<TypeAttr>(type).getValue()));
  return list;
}

/// What launches and copies say alike.
json turnJson(exec::LaunchInterface launch) {
  json args = json::array();
  int hostArg = -1;
  for (Value value :
       llvm::concat<Value>(llvm::to_vector(launch.getReads()), llvm::to_vector(launch.getWrites()))) {
    if (bufferOf(value).getHost())
      hostArg = static_cast<int>(args.size());
    args.push_back(bufferOf(value).getOffset());
  }
  json entry = {{key::args, args}, {key::reads, launch.getReads().size()}};
  if (hostArg >= 0)
    entry[key::hostArg] = hostArg;
  if (launch.getStream() != abi::kComputeStream)
    entry[key::stream] = launch.getStream();
  if (auto waits = launch.getWaits())
    entry[key::waits] = std::vector<int64_t>(waits->begin(), waits->end());
  if (auto event = launch.getRecords())
    entry[key::records] = *event;
  if (std::string where = placeText(launch); !where.empty())
    entry[key::loc] = where;
  if (isBackward(launch))
    entry[key::backward] = true;
  if (Attribute notes = launch->getDiscardableAttr(valuesName))
    entry[key::values] = toJson(notes);
  return entry;
}

/// Copies are calls of a runtime kernel.
json copyJson(exec::CopyOp copy) {
  json entry = turnJson(copy);
  entry[key::library] = "copy";
  entry[key::attrs] = json::object();
  entry[key::inputs] = entry[key::outputs] = json::array({tensorDescription(copy.getType())});
  return entry;
}

json launchJson(exec::LaunchOp launch) {
  json entry = turnJson(launch);
  entry[key::outputs] = descriptions(launch.getWriteTypes());
  if (launch.getLibrary()) {
    entry[key::library] = launch.getKernel().str();
    entry[key::attrs] = launch.getAttrs() ? toJson(*launch.getAttrs()) : json::object();
    entry[key::inputs] = descriptions(launch.getReadTypes());
    if (linkedKernelOf(launch.getContext(), launch.getKernel()))
      entry[key::iterations] = launch.getIterations();
  } else {
    entry[key::kernel] = launch.getKernel().str();
    entry[key::iterations] = launch.getIterations();
    entry[key::grain] = launch.getGrain();
  }
  if (ArrayAttr kernels = launch.getKernelsAttr())
    entry[key::kernels] = toJson(kernels);
  if (launch.getWorkspace())
    entry[key::workspace] = {{key::offset, bufferOf(launch.getWorkspace()).getOffset()},
                             {key::bytes, bufferOf(launch.getWorkspace()).getSize()}};
  return entry;
}

/// Without a mark: the arena that kernels work on.
void markSpace(json &entry, exec::BufferOp buffer) {
  if (buffer.getHost())
    entry[key::space] = "host";
}

/// Collects what functions say of the world outside: inputs, scalars, results.
class TableBuilder {
public:
  TableBuilder(ModuleOp module, const ProgramFacts &facts) : module(module), symbols(module), facts(facts) {}

  json functions() {
    json table = json::object();
    for (auto function : module.getOps<exec::FunctionOp>())
      table[function.getSymName().str()] = functionJson(function);
    return table;
  }

  json inputs = json::array(), scalars = json::array(), results = json::array();

private:
  json functionJson(exec::FunctionOp function) {
    json entry = {{key::inputs, json::array()},
                  {key::outputs, json::array()},
                  {key::buffers, json::array()},
                  {key::launches, json::array()},
                  {key::gradients, json::array()}};
    int64_t id = 0;
    for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
      if (!buffer.isPersistent()) {
        entry[key::buffers].push_back({{key::id, id++},
                                       {key::offset, buffer.getOffset()},
                                       {key::bytes, buffer.getSize()},
                                       {key::first, static_cast<int64_t>(buffer.getFirst())},
                                       {key::last, static_cast<int64_t>(buffer.getLast())},
                                       {key::name, buffer.getName().str()}});
        markSpace(entry[key::buffers].back(), buffer);
      }
      for (train::BindingAttr binding : buffer.bound())
        bind(function, entry, buffer, binding);
    }
    for (Operation &op : function.getBody().front()) {
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        entry[key::launches].push_back(launchJson(launch));
      else if (auto copy = dyn_cast<exec::CopyOp>(op))
        entry[key::launches].push_back(copyJson(copy));
    }
    for (auto gradient : function.getBody().getOps<exec::GradientOp>()) {
      entry[key::gradients].push_back({{key::parameter, gradient.getParameter().str()},
                                       {key::offset, bufferOf(gradient.getBuffer()).getOffset()},
                                       {key::dtype, tensorDescription(gradient.getType())[key::dtype]},
                                       {key::afterLaunch, static_cast<int64_t>(gradient.getAfter())}});
      markShard(entry[key::gradients].back(), gradient);
      markSpace(entry[key::gradients].back(), bufferOf(gradient.getBuffer()));
    }
    entry[key::gradientScale] = facts.options.value(key::lossKind, "") == "items" ? "items" : "one";
    if (int64_t ready = lossReady(function); ready >= 0)
      entry[key::lossReady] = ready;
    if (int64_t ready = normReady(function); ready >= 0)
      entry[key::normReady] = ready;
    return entry;
  }

  /// Where ranks share the work, each has its part of a gradient.
  void markShard(json &entry, exec::GradientOp gradient) {
    auto state = symbols.lookup<train::StateOp>(gradient.getParameter());
    const bool isFlat = cast<RankedTensorType>(gradient.getType()).getShape() != state.boxType().getShape();
    if (auto sharding = state.getSharding(); sharding && !sharding->getCuts().empty())
      entry[key::shard] = shardJson(*sharding, isFlat);
    else if (isFlat)
      entry[key::shard] = {{key::shape, state.wholeType().getShape().vec()}};
  }

  void bind(exec::FunctionOp function, json &entry, exec::BufferOp buffer, train::BindingAttr binding) {
    std::string name = binding.getName().str();
    json description = tensorDescription(buffer.getType());
    switch (binding.getKind()) {
    case train::BindingKind::Input:
      entry[key::inputs].push_back({{key::name, name}, {key::offset, buffer.getOffset()}});
      addOnce(inputs, inputJson(name, description));
      break;
    case train::BindingKind::Output:
      entry[key::outputs].push_back(outputJson(buffer, binding));
      break;
    case train::BindingKind::Scalar:
      addOnce(scalars,
              {{key::name, name}, {key::dtype, description[key::dtype]}, {key::offset, buffer.getOffset()}});
      break;
    case train::BindingKind::Result:
      description[key::name] = name;
      description[key::function] = function.getSymName().str();
      description[key::offset] = buffer.getOffset();
      results.push_back(description);
      break;
    default:
      llvm_unreachable("the verifier of exec.buffer lets no other binding through");
    }
  }

  static json outputJson(exec::BufferOp buffer, train::BindingAttr output) {
    json entry = tensorDescription(output.getPart() ? output.getWhole() : buffer.getType());
    entry[key::name] = output.getName().str();
    entry[key::offset] = buffer.getOffset();
    if (output.getPart())
      entry[key::part] = {{key::first, *output.getPart()},
                          {key::elements, cast<RankedTensorType>(buffer.getType()).getNumElements()},
                          {key::afterLaunch, static_cast<int64_t>(buffer.getFirst())}};
    return entry;
  }

  json inputJson(StringRef name, json description) {
    description[key::name] = name.str();
    description[key::role] = name == facts.labels ? "labels" : "data";
    auto bounds = train::BoundsNote(module->getContext()).getAttr(module);
    if (auto bound = bounds ? bounds.getAs<DictionaryAttr>(name) : DictionaryAttr())
      description.update(toJson(bound));
    return description;
  }

  static void addOnce(json &list, json entry) {
    for (const json &other : list)
      if (other[key::name] == entry[key::name])
        return;
    list.push_back(std::move(entry));
  }

  /// visit(launch's number, buffer that it writes), in order.
  template <typename Visit> static void forEachWrite(exec::FunctionOp function, Visit &&visit) {
    int64_t at = 0;
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
      for (Value write : launch.getWrites())
        visit(at, bufferOf(write));
      ++at;
    }
  }

  static bool holdsResult(exec::BufferOp buffer, StringRef name) {
    return llvm::any_of(buffer.bound(), [&](train::BindingAttr binding) {
      return binding.is(train::BindingKind::Result, name);
    });
  }

  /// The loss, and what the log says beside it.
  static bool holdsLoss(exec::BufferOp buffer) {
    return llvm::any_of(buffer.bound(), [](train::BindingAttr binding) {
      const StringRef name = binding.getName();
      return binding.getKind() == train::BindingKind::Result &&
             (name == "loss_sum" || name == "items" || name.starts_with(abi::kMetricPrefix) ||
              name.starts_with(abi::kLossPrefix));
    });
  }

  /// A rank that stopped before its last transfer would leave others waiting. Result of a pipeline's
  /// functions alone.
  static bool hasTransfers(exec::FunctionOp function) {
    return llvm::any_of(function.getBody().getOps<exec::BufferOp>(),
                        [](exec::BufferOp buffer) { return holdsResult(buffer, "transfers"); });
  }

  /// The last launch that writes some of it.
  static int64_t lossReady(exec::FunctionOp function) {
    if (hasTransfers(function))
      return -1;
    int64_t ready = -1;
    forEachWrite(function, [&](int64_t at, exec::BufferOp buffer) {
      if (holdsLoss(buffer))
        ready = at;
    });
    return ready;
  }

  /// The last launch that writes grad_norm, when no update has changed anything by then; else -1. In a
  /// pipeline the loss and the last transfer are there by then, too.
  int64_t normReady(exec::FunctionOp function) {
    const bool isStage = hasTransfers(function);
    bool hasNorm = false;
    int64_t ready = -1, updated = -1;
    forEachWrite(function, [&](int64_t at, exec::BufferOp buffer) {
      hasNorm |= holdsResult(buffer, "grad_norm");
      if (holdsResult(buffer, "grad_norm") ||
          (isStage && (holdsLoss(buffer) || holdsResult(buffer, "transfers"))))
        ready = at;
      if (updated < 0 && isUpdated(buffer))
        updated = at;
    });
    return hasNorm && (updated < 0 || ready < updated) ? ready : -1;
  }

  /// Running statistics and accumulators change before: they are no part of the update.
  bool isUpdated(exec::BufferOp buffer) {
    if (!buffer.getStateAttr())
      return false;
    train::Role role = symbols.lookup<train::StateOp>(buffer.getStateAttr().getValue()).getRole();
    return role != train::Role::Buffer && role != train::Role::Accumulator;
  }

  ModuleOp module;
  SymbolTable symbols;
  const ProgramFacts &facts;
};
} // namespace

ProgramImageParts kedge::exporter::programJson(ModuleOp module, const ProgramFacts &facts,
                                               std::vector<unsigned char> data) {
  ProgramImageParts parts{json::object(), std::move(data)};
  TableBuilder builder(module, facts);
  json functions = builder.functions();
  json &out = parts.json;
  out[key::format] = 1;
  out[key::name] = facts.name;
  out[key::target] = facts.target;
  StateTable states = stateTable(module, facts, parts.data);
  out[key::model] = std::move(states.model);
  for (auto arena : module.getOps<exec::ArenaOp>())
    out[key::arena] = {{key::bytes, arena.getBytes()},
                       {key::persistentBytes, arena.getPersistent()},
                       {key::align, arena.getAlign()}};
  for (auto arena : module.getOps<exec::HostArenaOp>()) {
    out[key::hostArena] = {{key::bytes, arena.getBytes()},
                           {key::persistentBytes, arena.getPersistent()},
                           {key::align, arena.getAlign()}};
    for (exec::FileAttr file : arena.getListed())
      out[key::hostArena][key::files].push_back(
          {{key::directory, file.getDirectory()}, {key::bytes, file.getBytes()}});
  }
  out[key::states] = std::move(states.states);
  out[key::scalars] = std::move(builder.scalars);
  out[key::results] = std::move(builder.results);
  out[key::inputs] = std::move(builder.inputs);
  out[key::functions] = std::move(functions);
  out[key::options] = facts.options;
  out[key::plan] = facts.plan;
  out[key::exportTemplate] = facts.skeleton;
  return parts;
}
