#include "lib/Export/Plan/PlanView.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Export/Plan/HostMemory.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;

namespace {

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t size : tensor.getShape())
    stream << size << 'x';
  stream << tensor.getElementType();
  return text;
}

/// "h.0.attn" of the parameter "h.0.attn.weight".
std::string ownerOf(StringRef parameter) {
  return parameter.contains('.') ? parameter.rsplit('.').first.str() : parameter.str();
}

const char *shareOf(train::Role role) {
  switch (role) {
  case train::Role::Parameter:
  case train::Role::Frozen:
    return "parameters";
  case train::Role::WorkingCopy:
    return "working_copies";
  case train::Role::Accumulator:
    return "gradients";
  case train::Role::Buffer:
  case train::Role::Constant:
  case train::Role::Scaler:
    return "buffers";
  default:
    return "optimizer";
  }
}

class Viewer {
public:
  explicit Viewer(ModuleOp module) : module(module), symbols(module) {}

  PlanView run() {
    for (auto arena : module.getOps<exec::ArenaOp>()) {
      view.arenaBytes = arena.getBytes();
      view.persistentBytes = arena.getPersistent();
    }
    for (auto state : module.getOps<train::StateOp>())
      if (!sched::isOnHost(state))
        addState(state);
    for (auto function : module.getOps<exec::FunctionOp>())
      addFunction(function);
    return std::move(view);
  }

private:
  void addState(train::StateOp state) {
    auto tensor = cast<RankedTensorType>(state.getType());
    PlanRange range;
    range.name = state.getSymName().str();
    range.type = typeText(tensor);
    range.share = shareOf(state.getRole());
    if (state.getRole() != train::Role::Constant)
      range.layer = ownerOf(parameterName(state.getOf().value_or(state.getSymName())));
    range.bytes = analysis::arenaBytes(state, bytesOf(tensor));
    range.offset = exec::OffsetNote(state.getContext()).getAttr(state).getInt();
    view.state.push_back(range);
  }

  bool isTransient(exec::BufferOp buffer) const {
    return !buffer.getHost() && static_cast<int64_t>(buffer.getOffset()) >= view.persistentBytes;
  }

  void addFunction(exec::FunctionOp op) {
    PlanFunction function;
    function.name = op.getSymName().str();
    writers.clear();
    inTransit = statesInTransit(op);
    for (auto launch : op.getBody().getOps<exec::LaunchInterface>())
      addLaunch(function, launch);
    llvm::DenseMap<Operation *, StringRef> gradients; // the parameter of each
    for (auto gradient : op.getBody().getOps<exec::GradientOp>())
      gradients.try_emplace(gradient.getBuffer().getDefiningOp(), gradient.getParameter());
    change.assign(function.launches.size() + 3, 0);
    for (auto buffer : op.getBody().getOps<exec::BufferOp>())
      if (isTransient(buffer))
        addRange(function, buffer, gradients.lookup(buffer));
    function.load.resize(function.launches.size() + 2);
    std::partial_sum(change.begin(), change.end() - 1, function.load.begin());
    view.functions.push_back(std::move(function));
  }

  void addLaunch(PlanFunction &function, exec::LaunchInterface op) {
    PlanLaunch launch;
    launch.kernel = op.getKernel().str();
    if (PlaceAttr place = placeOf(op)) {
      launch.layer = place.getModule().str();
      if (place.getPhase() == TrainingPhase::Backward)
        launch.phase = PlanLaunch::Phase::Backward;
    }
    if (auto kernel = dyn_cast<exec::LaunchOp>(*op); kernel && kernel.getRecomputed()) {
      launch.phase = PlanLaunch::Phase::Recompute;
      launch.reason = kernel.getRecomputed()->str();
    }
    for (Value written : op.getWrites()) {
      auto buffer = written.getDefiningOp<exec::BufferOp>();
      writers.try_emplace(buffer, function.launches.size());
      if (auto owner = updatedParameter(buffer)) {
        launch.phase = PlanLaunch::Phase::Update;
        launch.layer = launch.layer.empty() ? ownerOf(*owner) : launch.layer;
      }
    }
    if (auto copy = dyn_cast<exec::CopyOp>(*op)) {
      launch.phase = PlanLaunch::Phase::Copy;
      launch.reason = copy.getOffloaded().value_or("").str();
    }
    if (Value scratch = op.getScratch())
      writers.try_emplace(scratch.getDefiningOp(), function.launches.size());
    function.launches.push_back(std::move(launch));
  }

  StringRef parameterName(StringRef symbol) {
    auto state = symbols.lookup<train::StateOp>(symbol);
    return state ? state.getOnnxName().value_or(symbol) : symbol;
  }

  /// The parameter whose value or optimizer state the buffer is.
  std::optional<StringRef> updatedParameter(exec::BufferOp buffer) {
    auto symbol = buffer.getStateAttr();
    auto state = symbol ? symbols.lookup<train::StateOp>(symbol.getValue()) : nullptr;
    if (!state || state.getRole() == train::Role::Buffer || state.getRole() == train::Role::Accumulator)
      return std::nullopt;
    return parameterName(state.getOf().value_or(state.getSymName()));
  }

  void addRange(PlanFunction &function, exec::BufferOp buffer, StringRef parameter) {
    PlanRange range;
    range.name = buffer.getName().str();
    range.type = typeText(buffer.getType());
    range.share = range.name == "workspace" ? "workspace" : parameter.empty() ? "activations" : "gradients";
    train::StateOp state = inTransit.lookup(buffer);
    if (state)
      range.share = shareOf(state.getRole());
    if (auto writer = writers.find(buffer); writer != writers.end())
      range.layer = function.launches[writer->second].layer;
    if (state)
      range.layer = ownerOf(parameterName(state.getOf().value_or(state.getSymName())));
    if (!parameter.empty())
      range.layer = ownerOf(parameterName(parameter));
    // Buffers are named by where they come from; for these that is no place in the model.
    if ((range.name == "workspace" || range.name == "backward") && !range.layer.empty())
      range.name += " of " + range.layer;
    range.bytes = analysis::arenaBytes(buffer, buffer.getSize());
    range.offset = buffer.getOffset();
    range.first = static_cast<int64_t>(buffer.getFirst());
    range.last = static_cast<int64_t>(buffer.getLast());
    change[range.first + 1] += range.bytes;
    change[range.last + 2] -= range.bytes;
    function.ranges.push_back(std::move(range));
  }

  ModuleOp module;
  SymbolTable symbols;
  PlanView view;
  std::vector<int64_t> change; ///< of a function's load, from one launch to the next
  llvm::DenseMap<Operation *, train::StateOp> inTransit;
  llvm::DenseMap<Operation *, size_t> writers; ///< of a buffer: the first launch that writes it
};

bool isNumber(llvm::StringRef part) {
  return !part.empty() && llvm::all_of(part, [](char c) { return llvm::isDigit(c); });
}

} // namespace

size_t PlanFunction::fullest() const { return std::max_element(load.begin(), load.end()) - load.begin(); }

size_t PlanView::fullest() const {
  auto most = [](const PlanFunction &function) { return function.load[function.fullest()]; };
  auto less = [&](const PlanFunction &a, const PlanFunction &b) { return most(a) < most(b); };
  return std::max_element(functions.begin(), functions.end(), less) - functions.begin();
}

PlanView kedge::exporter::viewPlan(ModuleOp module) { return Viewer(module).run(); }

std::string kedge::exporter::layerGroup(const std::string &layer) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(layer).split(parts, '.');
  auto numbered = llvm::find_if(parts, isNumber);
  if (numbered == parts.end())
    numbered = llvm::find_if(
        parts, [](llvm::StringRef part) { return !part.empty() && llvm::isDigit(part.back()); });
  if (numbered == parts.end())
    return layer;
  return layer.substr(0, numbered->end() - layer.data());
}

std::string kedge::exporter::formatAmount(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}
