#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PLACEUPDATES
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Other results than new states (the norm of all gradients, the loss) are not to delay the ops that lead to
/// them. Functions of evaluation have only such results: in them, an op moves only if its results are far
/// smaller than what it reads.
bool boilsDown(Operation &op) {
  constexpr int64_t scalarBytes = 64, ratio = 64;
  int64_t made = 0, largest = 0;
  for (Value result : op.getResults())
    made += sched::bytesOf(result.getType());
  for (Value operand : op.getOperands())
    largest = std::max(largest, sched::bytesOf(operand.getType()));
  return made <= std::max(scalarBytes, largest / ratio);
}

/// Pieces that one launch joins, such as the sums that the norm of all gradients is made of, hold as many
/// bytes apart as together.
bool joins(Operation &op) {
  auto library = dyn_cast<sched::LibraryOp>(op);
  return library && library.calls<onnx::ConcatOp>();
}

/// Ops whose results lead to nothing but new state and results of the function, through ops of the same kind.
struct Tail {
  SmallVector<Operation *> ops;    ///< in order
  DenseSet<Operation *> onlyState; ///< those that lead to nothing but new state
};

Tail tailOf(func::FuncOp function) {
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
    if (toState || isa<sched::ViewOp>(op) || boilsDown(op) || joins(op))
      tail.insert(&op);
  }
  return {llvm::to_vector(llvm::reverse(tail)), std::move(onlyState)};
}

bool isReturned(Operation *op) {
  return llvm::any_of(op->getUsers(),
                      [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

/// The order of ops in a block as numbers that leave gaps, so that many ops can be moved without counting
/// again.
class OpOrder {
public:
  explicit OpOrder(Block &block) : block(block) { number(); }

  bool isBefore(Operation *a, Operation *b) const { return numbers.lookup(a) < numbers.lookup(b); }

  void moveBehind(Operation *op, Operation *after) {
    op->moveAfter(after);
    int64_t before = numbers.lookup(after), behind = numbers.lookup(op->getNextNode());
    if (behind - before < 2)
      return number();
    numbers[op] = before + (behind - before) / 2;
  }

  void moveToFront(Operation *op) {
    Operation *first = &block.front();
    if (op == first)
      return;
    op->moveBefore(first);
    const int64_t behind = numbers.lookup(first);
    if (behind < 2)
      return number();
    numbers[op] = behind / 2;
  }

private:
  void number() {
    constexpr int64_t apart = int64_t(1) << 32;
    int64_t next = 0;
    for (Operation &op : block)
      numbers[&op] = next += apart;
  }

  Block &block;
  DenseMap<Operation *, int64_t> numbers;
};

/// A rank's own part of a parameter takes bytes until its update reads it, whenever it is made: it belongs
/// right in front of its reader.
bool belongsToReader(Operation *op) {
  auto library = dyn_cast_or_null<sched::LibraryOp>(op);
  return library && library.calls<dist::LocalShardOp>() && !op->use_empty() &&
         llvm::all_equal(op->getUsers()) && !(*op->user_begin())->hasTrait<OpTrait::IsTerminator>();
}

struct PlaceUpdates : impl::PlaceUpdatesBase<PlaceUpdates> {
  void run() override {
    if (getOperation().isExternal())
      return;
    OpOrder order(getOperation().getBody().front());
    findReductions(getOperation().getBody().front());
    findTransfers(getOperation().getBody().front());
    arguments.clear();
    for (BlockArgument argument : getOperation().getArguments())
      if (auto state = train::stateOfArgument(getOperation(), argument.getArgNumber()))
        arguments[state.getAttr()] = argument;
    int64_t moved = 0;
    const Tail tail = tailOf(getOperation());
    const DenseSet<Operation *> prepared = madeOfStates(tail);
    for (Operation *op : tail.ops) {
      if (belongsToReader(op))
        continue;
      SmallVector<Operation *> companions;
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            belongsToReader(producer) && !llvm::is_contained(companions, producer))
          companions.push_back(producer);
      Operation *after = lastObstacle(op, order);
      if (!after && companions.empty() && (isa<sched::ViewOp>(op) || prepared.contains(op)))
        order.moveToFront(op); // only an update reads it, which follows it
      if (!after || after->getNextNode() == op)
        continue;
      order.moveBehind(op, after);
      for (Operation *companion : companions)
        order.moveBehind(companion, after);
      ++moved;
    }
    for (Operation *op : llvm::reverse(tail.ops))
      if (prepared.contains(op))
        moveToReader(op);
    addStatistic("ops moved", moved);
  }

  /// What is made of states alone for updates, such as a master that is joined of two parts.
  DenseSet<Operation *> madeOfStates(const Tail &tail) {
    DenseSet<Operation *> made;
    const auto isMade = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument ? bool(train::stateOfArgument(getOperation(), argument.getArgNumber()))
                      : made.contains(value.getDefiningOp());
    };
    for (Operation *op : tail.ops)
      if (tail.onlyState.contains(op) && !isReturned(op) && !belongsToReader(op) &&
          llvm::all_of(op->getOperands(), isMade))
        made.insert(op);
    return made;
  }

  static void moveToReader(Operation *op) {
    Operation *first = *op->user_begin();
    for (Operation *user : op->getUsers())
      first = user->isBeforeInBlock(first) ? user : first;
    op->moveBefore(first);
  }

  /// The last op that `op` must follow: what defines its operands, and whoever else reads the state that
  /// its results replace.
  Operation *lastObstacle(Operation *op, const OpOrder &order) {
    Operation *last = nullptr;
    auto consider = [&](Operation *candidate) {
      if (!candidate || candidate == op || candidate->getBlock() != op->getBlock())
        return;
      if (!last || order.isBefore(last, candidate))
        last = candidate;
    };
    auto considerReaders = [&](Value state) {
      for (Operation *reader : state.getUsers())
        if (reader->getBlock() == op->getBlock() && order.isBefore(reader, op) &&
            !belongsToReaderOf(reader, op))
          consider(reader);
    };
    if (changesState(op))
      consider(lastTransfer.lookup(op));
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (belongsToReader(producer)) { // it moves along, not further than behind what it is a part of
        for (Value whole : producer->getOperands())
          consider(whole.getDefiningOp());
        continue;
      }
      consider(producer);
      consider(nextReduction.lookup(producer));
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && train::stateOfArgument(getOperation(), argument.getArgNumber()))
        considerReaders(operand);
    }
    for (Value old : replacedBy(op))
      considerReaders(old);
    return last;
  }

  bool changesState(Operation *op) {
    return llvm::any_of(op->getUses(), [&](OpOperand &use) {
      return use.getOwner()->hasTrait<OpTrait::IsTerminator>() &&
             train::stateOfResult(getOperation(), use.getOperandNumber());
    });
  }

  /// Before each op: a stage of a pipeline passes on what others wait for, the norm of all gradients among
  /// it, before its own updates. Then it may leave these out, with all others.
  void findTransfers(Block &block) {
    lastTransfer.clear();
    Operation *last = nullptr;
    for (Operation &op : block) {
      lastTransfer[&op] = last;
      if (auto library = dyn_cast<sched::LibraryOp>(op);
          library && (library.calls<dist::SendOp>() || library.calls<dist::ReceiveOp>()))
        last = &op;
    }
  }

  static bool belongsToReaderOf(Operation *companion, Operation *reader) {
    return belongsToReader(companion) && *companion->user_begin() == reader;
  }

  /// The arguments whose states the op's results become.
  SmallVector<Value> replacedBy(Operation *op) {
    SmallVector<Value> replaced;
    for (OpOperand &use : op->getUses())
      if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        if (auto state = train::stateOfResult(getOperation(), use.getOperandNumber()))
          if (Value argument = arguments.lookup(state.getAttr()))
            replaced.push_back(argument);
    return replaced;
  }

  /// A reduction over ranks may run until the next one begins, beside the launches that compute the gradients
  /// of the next.
  void findReductions(Block &block) {
    nextReduction.clear();
    Operation *before = nullptr;
    for (auto library : block.getOps<sched::LibraryOp>())
      if (library.calls<dist::ReduceScatterOp>()) {
        if (before)
          nextReduction[before] = library;
        before = library;
      }
  }

  DenseMap<Attribute, Value> arguments; ///< by the state that they bring
  DenseMap<Operation *, Operation *> nextReduction;
  DenseMap<Operation *, Operation *> lastTransfer;
};
} // namespace
} // namespace kedge::schedule
