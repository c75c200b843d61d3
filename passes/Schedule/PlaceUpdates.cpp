#include "passes/Schedule/Passes.h"
#include "kedge/Support/Statistics.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PLACEUPDATES
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Ops whose results lead to nothing but new state, through ops of the same kind.
SmallVector<Operation *> tailOps(func::FuncOp function) {
  llvm::SetVector<Operation *> tail;
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  auto isState = [&](OpOperand &use) {
    return use.getOwner() == terminator ? bool(function.getResultAttr(use.getOperandNumber(), "train.state"))
                                        : tail.contains(use.getOwner());
  };
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    bool ends = llvm::all_of(op.getUses(), isState);
    if (ends && !op.use_empty())
      tail.insert(&op);
  }
  return llvm::to_vector(llvm::reverse(tail));
}

struct PlaceUpdates : impl::PlaceUpdatesBase<PlaceUpdates> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    // Numbered once: ops move only up, to places behind ops that do not move after them.
    DenseMap<Operation *, int64_t> order;
    int64_t next = 0;
    for (Operation &op : block)
      order[&op] = next++;
    int64_t moved = 0;
    SmallVector<Operation *> tail = tailOps(getOperation());
    for (Operation *op : tail) {
      Operation *after = lastObstacle(op, order);
      if (after && after->getNextNode() != op) {
        op->moveAfter(after);
        order[op] = order[after];
        ++moved;
      }
    }
    addStatistic("kedge-place-updates", "ops moved", moved);
  }

  /// The last op that `op` must follow: what defines its operands, and whoever else reads the state that
  /// its results replace.
  Operation *lastObstacle(Operation *op, const DenseMap<Operation *, int64_t> &order) {
    Operation *last = nullptr;
    auto consider = [&](Operation *candidate) {
      if (!candidate || candidate == op || candidate->getBlock() != op->getBlock())
        return;
      if (!last || order.lookup(candidate) > order.lookup(last) ||
          (order.lookup(candidate) == order.lookup(last) && last->isBeforeInBlock(candidate)))
        last = candidate;
    };
    for (Value operand : op->getOperands()) {
      consider(operand.getDefiningOp());
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || !getOperation().getArgAttr(argument.getArgNumber(), "train.state"))
        continue;
      for (Operation *reader : operand.getUsers())
        if (reader->getBlock() == op->getBlock() && reader->isBeforeInBlock(op))
          consider(reader);
    }
    return last;
  }
};
} // namespace
} // namespace kedge::schedule
