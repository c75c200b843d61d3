#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Support/Statistics.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PLACEUPDATES
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// What is returned beside new state (the norm of all gradients, the loss) must not hold up what leads to it,
/// and whole evaluations lead to nothing else: there only what boils a tensor down goes along.
bool boilsDown(Operation &op) {
  constexpr int64_t scalarBytes = 64, ratio = 64;
  int64_t made = 0, largest = 0;
  for (Value result : op.getResults())
    made += sched::bytesOf(result.getType());
  for (Value operand : op.getOperands())
    largest = std::max(largest, sched::bytesOf(operand.getType()));
  return made <= std::max(scalarBytes, largest / ratio);
}

/// Ops whose results lead to nothing but new state and results of the function, through ops of the same kind.
SmallVector<Operation *> tailOps(func::FuncOp function) {
  llvm::SetVector<Operation *> tail;
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  auto isState = [&](OpOperand &use) {
    return use.getOwner() == terminator && train::stateOfResult(function, use.getOperandNumber());
  };
  auto ends = [&](OpOperand &use) { return use.getOwner() == terminator || tail.contains(use.getOwner()); };
  DenseSet<Operation *> onlyState;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (op.use_empty() || !llvm::all_of(op.getUses(), ends))
      continue;
    auto endsAsState = [&](OpOperand &use) { return isState(use) || onlyState.contains(use.getOwner()); };
    bool toState = llvm::all_of(op.getUses(), endsAsState);
    if (toState)
      onlyState.insert(&op);
    if (toState || isa<sched::ViewOp>(op) || boilsDown(op))
      tail.insert(&op);
  }
  return llvm::to_vector(llvm::reverse(tail));
}

/// Places of ops in a block as numbers, so that moving many of them asks nobody to count anew.
class Places {
public:
  explicit Places(Block &block) : block(block) { number(); }

  bool isBefore(Operation *a, Operation *b) const { return places.lookup(a) < places.lookup(b); }

  void moveBehind(Operation *op, Operation *after) {
    op->moveAfter(after);
    int64_t before = places.lookup(after), behind = places.lookup(op->getNextNode());
    if (behind - before < 2)
      return number();
    places[op] = before + (behind - before) / 2;
  }

private:
  void number() {
    constexpr int64_t apart = int64_t(1) << 32;
    int64_t next = 0;
    for (Operation &op : block)
      places[&op] = next += apart;
  }

  Block &block;
  DenseMap<Operation *, int64_t> places;
};

struct PlaceUpdates : impl::PlaceUpdatesBase<PlaceUpdates> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Places places(getOperation().getBody().front());
    int64_t moved = 0;
    for (Operation *op : tailOps(getOperation())) {
      Operation *after = lastObstacle(op, places);
      if (!after || after->getNextNode() == op)
        continue;
      places.moveBehind(op, after);
      ++moved;
    }
    addStatistic("kedge-place-updates", "ops moved", moved);
  }

  /// The last op that `op` must follow: what defines its operands, and whoever else reads the state that
  /// its results replace.
  Operation *lastObstacle(Operation *op, const Places &places) {
    Operation *last = nullptr;
    auto consider = [&](Operation *candidate) {
      if (!candidate || candidate == op || candidate->getBlock() != op->getBlock())
        return;
      if (!last || places.isBefore(last, candidate))
        last = candidate;
    };
    for (Value operand : op->getOperands()) {
      consider(operand.getDefiningOp());
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || !train::stateOfArgument(getOperation(), argument.getArgNumber()))
        continue;
      for (Operation *reader : operand.getUsers())
        if (reader->getBlock() == op->getBlock() && places.isBefore(reader, op))
          consider(reader);
    }
    return last;
  }
};
} // namespace
} // namespace kedge::schedule
