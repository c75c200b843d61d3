#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_JOINPARTIALSUMS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using sched::ClusterOp;

/// The sum of a block's rows, which kedge-sum-columns lets another cluster compute.
bool isPartialSum(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto cluster = result ? dyn_cast<ClusterOp>(result.getOwner()) : ClusterOp();
  return cluster && cluster.getBody()
                        .front()
                        .getTerminator()
                        ->getOperand(result.getResultNumber())
                        .getDefiningOp<sched::SumOp>();
}

bool joinsPartialSums(ClusterOp cluster) {
  return !cluster.getClone() && !cluster.getInputs().empty() && !cluster.getReduced().empty() &&
         llvm::all_of(cluster.getInputs(), isPartialSum);
}

/// Whether both are one kernel.
bool isAlike(ClusterOp a, ClusterOp b) {
  return a.getDomain() == b.getDomain() && a.getReduced() == b.getReduced() &&
         a.getInputMaps() == b.getInputMaps() && a.getOutputMaps() == b.getOutputMaps() &&
         a.getResultTypes() == b.getResultTypes() &&
         ValueRange(a.getInputs()).getTypes() == ValueRange(b.getInputs()).getTypes();
}

int64_t bytesOf(ValueRange tensors) {
  int64_t bytes = 0;
  for (Value tensor : tensors)
    bytes += sched::bytesOf(tensor.getType());
  return bytes;
}

/// Joins that wait for each other, and what reads their sums in between.
struct Group {
  SmallVector<ClusterOp> joins;
  int64_t bytes = 0;
};

struct JoinPartialSums : impl::JoinPartialSumsBase<JoinPartialSums> {
  using Base::Base;

  void run() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    SmallVector<Group> groups;
    for (ClusterOp cluster : block.getOps<ClusterOp>())
      if (joinsPartialSums(cluster))
        add(cluster, groups);
    int64_t joined = 0;
    for (const Group &group : groups)
      joined += moveTogether(group);
    addStatistic("joins moved", joined);
  }

private:
  void add(ClusterOp cluster, SmallVector<Group> &groups) const {
    const int64_t bytes = bytesOf(cluster.getInputs());
    for (Group &group : llvm::reverse(groups)) {
      if (!isAlike(group.joins.front(), cluster))
        continue;
      if (group.bytes + bytes > held)
        break;
      group.joins.push_back(cluster);
      group.bytes += bytes;
      return;
    }
    groups.push_back({{cluster}, bytes});
  }

  /// All but the last go to the place of the last.
  int64_t moveTogether(const Group &group) {
    int64_t moved = 0;
    for (ClusterOp join : ArrayRef(group.joins).drop_back()) {
      llvm::SetVector<Operation *> along;
      if (!mayFollow(join, group.joins.back(), along))
        continue;
      join->moveBefore(group.joins.back());
      Operation *behind = group.joins.back();
      for (Operation *op : llvm::make_early_inc_range(along))
        if (op != join.getOperation()) {
          op->moveAfter(behind);
          behind = op;
        }
      ++moved;
    }
    return moved;
  }

  /// Whether `join` can stand before `place`: what reads its sums in front of that comes along, in order, and
  /// is nothing but updates of states and what leads to them.
  bool mayFollow(ClusterOp join, Operation *place, llvm::SetVector<Operation *> &along) {
    along.insert(join);
    for (Operation *op = join->getNextNode(); op != place; op = op->getNextNode())
      if (llvm::any_of(op->getOperands(), [&](Value read) { return along.contains(read.getDefiningOp()); })) {
        if (!isLight(op))
          return false;
        along.insert(op);
      }
    return llvm::none_of(along, [&](Operation *op) { return readsReplaced(op, place, along); });
  }

  /// Launches that write as little as they may wait for: no product, no collective.
  static bool isLight(Operation *op) {
    auto library = dyn_cast<sched::LibraryOp>(op);
    return isa<ClusterOp, sched::ViewOp>(op) || (library && library.calls<onnx::ConcatOp>());
  }

  /// Whether `op` reads a state that another one replaces between it and `place`: it would read the new
  /// value.
  bool readsReplaced(Operation *op, Operation *place, const llvm::SetVector<Operation *> &along) {
    func::FuncOp function = getOperation();
    llvm::DenseSet<Attribute> read;
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
          read.insert(state.getAttr());
    if (read.empty())
      return false;
    for (Operation *next = op->getNextNode(); next != place; next = next->getNextNode())
      for (OpOperand &use : next->getUses())
        if (!along.contains(next) && use.getOwner() == function.getBody().front().getTerminator())
          if (auto state = train::stateOfResult(function, use.getOperandNumber());
              state && read.contains(state.getAttr()))
            return true;
    return false;
  }
};
} // namespace
} // namespace kedge::schedule
