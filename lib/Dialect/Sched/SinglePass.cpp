#include "kedge/Dialect/Sched/SinglePass.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kedge::sched {

bool isAlongReductions(ClusterOp cluster, AffineMap output) {
  return llvm::any_of(cluster.getReduced(),
                      [&](int64_t dim) { return output.isFunctionOfDim(static_cast<unsigned>(dim)); });
}

bool reducesOnce(ClusterOp cluster) {
  llvm::DenseSet<Value> afterReductions;
  for (Operation &op : cluster.getBody().front().without_terminator()) {
    const bool waits = llvm::any_of(op.getOperands(), [&](Value v) { return afterReductions.contains(v); });
    const bool reduces = isa<ReduceOp>(op);
    if (reduces && waits)
      return false;
    if (reduces || waits)
      afterReductions.insert(op.result_begin(), op.result_end());
  }
  Operation *yield = cluster.getBody().front().getTerminator();
  for (auto [value, map] : llvm::zip(yield->getOperands(), cluster.getOutputMaps()))
    if (afterReductions.contains(value) && isAlongReductions(cluster, cast<AffineMapAttr>(map).getValue()))
      return false;
  return !afterReductions.empty();
}

/// The reductions that a value is computed from, and the arguments that it reads without a reduction in
/// between.
static void addSources(Value value, llvm::SetVector<Value> &reductions, llvm::SetVector<Value> &arguments) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (!op)
      arguments.insert(seen[i]);
    else if (isa<ReduceOp>(op))
      reductions.insert(seen[i]);
    else
      seen.insert(op->operand_begin(), op->operand_end());
  }
}

/// Arguments that a second or later walk over the row reads, as far as the body alone tells it.
static llvm::SetVector<Value> readLater(ClusterOp cluster) {
  llvm::SetVector<Value> arguments;
  auto addIfItWaits = [&](Value value) {
    llvm::SetVector<Value> reductions, sources;
    addSources(value, reductions, sources);
    if (!reductions.empty())
      arguments.insert(sources.begin(), sources.end());
  };
  for (auto reduction : cluster.getBody().front().getOps<ReduceOp>())
    addIfItWaits(reduction.getInput());
  for (Value yielded : cluster.getBody().front().getTerminator()->getOperands())
    addIfItWaits(yielded);
  return arguments;
}

/// Whether no reduction waits for another: one walk makes all of them.
static bool reducesInOneWalk(ClusterOp cluster) {
  return llvm::all_of(cluster.getBody().front().getOps<ReduceOp>(), [](ReduceOp reduction) {
    llvm::SetVector<Value> reductions, arguments;
    addSources(reduction.getInput(), reductions, arguments);
    return reductions.empty();
  });
}

static bool isInLastWalk(ClusterOp cluster, Value yielded) {
  llvm::SetVector<Value> reductions, arguments;
  addSources(yielded, reductions, arguments);
  if (!reductions.empty() && reducesInOneWalk(cluster))
    return true;
  for (size_t i = 0; i < reductions.size(); ++i)
    addSources(cast<ReduceOp>(reductions[i].getDefiningOp()).getInput(), reductions, arguments);
  return reductions.size() ==
         static_cast<size_t>(llvm::range_size(cluster.getBody().front().getOps<ReduceOp>()));
}

bool storesAfterAllReads(ClusterOp cluster, OpResult result, Value root) {
  Block &body = cluster.getBody().front();
  Value yielded = body.getTerminator()->getOperand(result.getResultNumber());
  if (isInLastWalk(cluster, yielded))
    return true;
  llvm::SetVector<Value> later = readLater(cluster);
  for (auto [input, argument] : llvm::zip(cluster.getInputs(), body.getArguments()))
    if (rootOf(input) == root && later.contains(argument))
      return false;
  return true;
}

} // namespace kedge::sched
