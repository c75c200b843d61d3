#include "lib/Export/Plan/LaunchBytes.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Export/Plan/HostMemory.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using analysis::arenaBytes;

namespace {

int64_t &shareOf(TransientBytes &bytes, train::Role role) {
  bool isParameter = role == train::Role::Parameter || role == train::Role::Frozen;
  return isParameter                        ? bytes.parameters
         : role == train::Role::Accumulator ? bytes.gradients
                                            : bytes.optimizer;
}

void addTo(TransientBytes &sum, const TransientBytes &bytes) {
  sum.gradients += bytes.gradients;
  sum.workspace += bytes.workspace;
  sum.communication += bytes.communication;
  sum.parameters += bytes.parameters;
  sum.optimizer += bytes.optimizer;
  sum.live += bytes.live;
}

bool isUpdated(train::Role role) {
  return role == train::Role::Parameter || role == train::Role::WorkingCopy || role == train::Role::Moment1 ||
         role == train::Role::Moment2 || role == train::Role::Momentum || role == train::Role::Average ||
         role == train::Role::Residual;
}

int64_t transientHeight(exec::FunctionOp function, int64_t persistent) {
  int64_t height = 0;
  for (auto buffer : function.getBody().getOps<exec::BufferOp>())
    if (isTransient(buffer, persistent))
      height =
          std::max<int64_t>(height, buffer.getOffset() + arenaBytes(buffer, buffer.getSize()) - persistent);
  return height;
}

/// What ranks gather, and the scratch of collectives, is there to be sent; gathered gradients, and what is
/// made of reduced ones, are gradients. What a reduction reads is a gradient as long as stages keep gradients
/// whole, then it is on its way.
void noteCollectives(exec::FunctionOp function, llvm::DenseSet<Operation *> &gradients,
                     llvm::DenseSet<Operation *> &sent) {
  const bool keepsWhole = dist::stageOf(function->getParentOfType<ModuleOp>()) < 2;
  llvm::DenseSet<Operation *> reduced;
  const auto isReduced = [&](Value value) { return reduced.contains(value.getDefiningOp()); };
  for (auto launch : function.getBody().getOps<exec::LaunchOp>()) {
    const bool reduces = launch.calls<dist::ReduceScatterOp>();
    if (reduces || (!launch.getCollective() && llvm::any_of(launch.getReads(), isReduced)))
      for (Value part : launch.getWrites())
        reduced.insert(part.getDefiningOp());
    if (!launch.getCollective())
      continue;
    if (launch.getWorkspace())
      sent.insert(launch.getWorkspace().getDefiningOp());
    for (auto [index, value] : llvm::enumerate(reduces ? launch.getReads() : launch.getWrites())) {
      const bool isGradient =
          reduces ? keepsWhole : index < launch.getReads().size() && isReduced(launch.getReads()[index]);
      (isGradient ? gradients : sent).insert(value.getDefiningOp());
    }
  }
}

/// First and last turn of each buffer.
using Turns = llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>>;

/// As they are placed: what a collective works on keeps its place until something else needs it.
Turns turnsInArena(exec::FunctionOp function) {
  Turns turns;
  for (auto buffer : function.getBody().getOps<exec::BufferOp>())
    turns[buffer] = {buffer.getFirst(), buffer.getLast()};
  return turns;
}

/// From the first launch that touches the bytes to the last.
Turns turnsInUse(exec::FunctionOp function) {
  Turns turns;
  int64_t turn = 0;
  for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
    for (Value touched : launch->getOperands())
      turns.try_emplace(touched.getDefiningOp(), turn, turn).first->second.second = turn;
    ++turn;
  }
  return turns;
}

/// Bytes of a function's transient buffers at each launch: entry k + 1 is of launch k.
std::vector<TransientBytes> bytesAtLaunches(exec::FunctionOp function, int64_t persistent,
                                            const Turns &turns) {
  llvm::DenseSet<Operation *> gradients;
  for (auto gradient : function.getBody().getOps<exec::GradientOp>())
    gradients.insert(gradient.getBuffer().getDefiningOp());
  llvm::DenseSet<Operation *> sent;
  noteCollectives(function, gradients, sent);
  llvm::DenseMap<Operation *, train::StateOp> states = statesInTransit(function);
  int64_t launches = llvm::range_size(function.getBody().getOps<exec::LaunchInterface>());
  std::vector<TransientBytes> at(launches + 3); // what changes with each launch, then what there is
  for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
    auto found = turns.find(buffer);
    if (!isTransient(buffer, persistent) || found == turns.end())
      continue;
    const int64_t bytes = arenaBytes(buffer, buffer.getSize());
    train::StateOp state = states.lookup(buffer);
    const auto add = [&](TransientBytes &change, int64_t bytes) {
      change.live += bytes;
      if (gradients.contains(buffer))
        change.gradients += bytes;
      else if (sent.contains(buffer))
        change.communication += bytes;
      else if (buffer.getName() == "workspace")
        change.workspace += bytes;
      else if (state)
        shareOf(change, state.getRole()) += bytes;
    };
    add(at[found->second.first + 1], bytes);
    add(at[found->second.second + 2], -bytes);
  }
  for (size_t k = 1; k < at.size(); ++k)
    addTo(at[k], at[k - 1]);
  at.pop_back();
  return at;
}

} // namespace

bool kedge::exporter::isTransient(exec::BufferOp buffer, int64_t persistentBytes) {
  return !buffer.getHost() && static_cast<int64_t>(buffer.getOffset()) >= persistentBytes;
}

TransientBytes kedge::exporter::fullestLaunch(exec::FunctionOp function, int64_t persistent) {
  std::vector<TransientBytes> at = bytesAtLaunches(function, persistent, turnsInArena(function));
  TransientBytes fullest = *std::max_element(
      at.begin(), at.end(), [](const TransientBytes &a, const TransientBytes &b) { return a.live < b.live; });
  fullest.height = transientHeight(function, persistent);
  return fullest;
}

std::optional<TransientBytes> kedge::exporter::atUpdate(ModuleOp module, exec::FunctionOp function,
                                                        int64_t persistent) {
  int64_t index = 0;
  const SymbolTable symbols(module);
  for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
    ++index;
    for (Value written : launch.getWrites()) {
      auto symbol = written.getDefiningOp<exec::BufferOp>().getStateAttr();
      auto state = symbol ? symbols.lookup<train::StateOp>(symbol.getValue()) : nullptr;
      if (state && !isa<exec::CopyOp>(*launch) && isUpdated(state.getRole()))
        return bytesAtLaunches(function, persistent, turnsInUse(function))[index];
    }
  }
  return std::nullopt;
}
