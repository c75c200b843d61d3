#include "lib/Dialect/Sched/SinglePass.h"
#include "lib/Dialect/Sched/InPlace.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kedge::sched {

bool isAlongFolds(ClusterOp cluster, AffineMap output) {
  return llvm::any_of(cluster.getReduced(),
                      [&](int64_t dim) { return output.isFunctionOfDim(static_cast<unsigned>(dim)); });
}

bool foldsOnce(ClusterOp cluster) {
  llvm::DenseSet<Value> behindFolds;
  for (Operation &op : cluster.getBody().front().without_terminator()) {
    const bool waits = llvm::any_of(op.getOperands(), [&](Value v) { return behindFolds.contains(v); });
    const bool folds = isa<ReduceOp>(op);
    if (folds && waits)
      return false;
    if (folds || waits)
      behindFolds.insert(op.result_begin(), op.result_end());
  }
  Operation *yield = cluster.getBody().front().getTerminator();
  for (auto [value, map] : llvm::zip(yield->getOperands(), cluster.getOutputMaps()))
    if (behindFolds.contains(value) && isAlongFolds(cluster, cast<AffineMapAttr>(map).getValue()))
      return false;
  return !behindFolds.empty();
}

/// The folds that a value is computed from, and the arguments that it reads without a fold in between.
static void addSources(Value value, llvm::SetVector<Value> &folds, llvm::SetVector<Value> &arguments) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (!op)
      arguments.insert(seen[i]);
    else if (isa<ReduceOp>(op))
      folds.insert(seen[i]);
    else
      seen.insert(op->operand_begin(), op->operand_end());
  }
}

/// Arguments that a second or later walk over the row reads, as far as the body alone tells it.
static llvm::SetVector<Value> readLater(ClusterOp cluster) {
  llvm::SetVector<Value> arguments;
  auto addIfItWaits = [&](Value value) {
    llvm::SetVector<Value> folds, sources;
    addSources(value, folds, sources);
    if (!folds.empty())
      arguments.insert(sources.begin(), sources.end());
  };
  for (auto fold : cluster.getBody().front().getOps<ReduceOp>())
    addIfItWaits(fold.getInput());
  for (Value yielded : cluster.getBody().front().getTerminator()->getOperands())
    addIfItWaits(yielded);
  return arguments;
}

/// Whether no fold waits for another: one walk makes all of them.
static bool foldsInOneWalk(ClusterOp cluster) {
  return llvm::all_of(cluster.getBody().front().getOps<ReduceOp>(), [](ReduceOp fold) {
    llvm::SetVector<Value> folds, arguments;
    addSources(fold.getInput(), folds, arguments);
    return folds.empty();
  });
}

static bool isInLastWalk(ClusterOp cluster, Value yielded) {
  llvm::SetVector<Value> folds, arguments;
  addSources(yielded, folds, arguments);
  if (!folds.empty() && foldsInOneWalk(cluster))
    return true;
  for (size_t i = 0; i < folds.size(); ++i)
    addSources(cast<ReduceOp>(folds[i].getDefiningOp()).getInput(), folds, arguments);
  return folds.size() == static_cast<size_t>(llvm::range_size(cluster.getBody().front().getOps<ReduceOp>()));
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
