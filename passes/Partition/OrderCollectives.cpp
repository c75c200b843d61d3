#include "kedge/Dialect/Dist/CollectiveCall.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "lib/Analysis/LaunchCost.h"
#include "passes/Partition/Passes.h"
#include <deque>

namespace kedge::partition {
#define GEN_PASS_DEF_ORDERCOLLECTIVES
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// Collectives of fewer elements take as long as an empty one: nobody waits for their bytes.
constexpr int64_t kSmall = 4096;
/// An op waits until the second collective at most: what it reads stays in memory for so long.
constexpr int kMostPassed = 2;

bool isAlongTensor(Operation &op) {
  auto library = dyn_cast<sched::LibraryOp>(op);
  return library && library.getCollective() &&
         dist::collectiveCallOf(library.getAttrs()).axis == dist::tensorAxis;
}

bool isLong(Operation &op) {
  const auto isLarge = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() > kSmall;
  };
  return isAlongTensor(op) &&
         (llvm::any_of(op.getOperands(), isLarge) || llvm::any_of(op.getResults(), isLarge));
}

/// The ops of a block in a new order, in which those that no later collective waits for may come later.
class Reorder {
public:
  Reorder(Block &block, const analysis::DeviceModel &device) : device(device) {
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops))
      if (isLong(*op) ||
          llvm::any_of(op->getUsers(), [&](Operation *user) { return awaited.contains(user); }))
        awaited.insert(op);
  }

  /// The number of ops that come later than before.
  int64_t run() {
    const auto last = llvm::find_if(llvm::reverse(ops), [](Operation *op) { return isLong(*op); });
    end = last.base();
    for (auto at = ops.begin(); at != ops.end(); ++at) {
      Operation *op = *at;
      if (at < end && mayWait(op)) {
        waiting.push_back({op});
        isWaiting.insert(op);
        continue;
      }
      emitWhat(op);
      order.push_back(op);
      if (isLong(*op))
        fill(at);
    }
    return place();
  }

private:
  struct Waiting {
    Operation *op;
    int passed = 0; ///< collectives
  };

  double secondsOf(Operation *op) const {
    return sched::isLaunch(*op) ? analysis::secondsOf(analysis::costOf(op), device) : 0;
  }

  static bool isMatmul(Operation *op) { return isa<sched::LibraryOp>(op) && analysis::costOf(op).product(); }

  bool readsWaiting(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value value) { return isWaiting.contains(value.getDefiningOp()); });
  }

  static bool readsSent(Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value value) {
      Operation *producer = sched::rootOf(value).getDefiningOp();
      return producer && isAlongTensor(*producer);
    });
  }

  /// Gradients of weights and what is made of them: products, or what reads something that is sent.
  bool mayWait(Operation *op) const {
    auto library = dyn_cast<sched::LibraryOp>(op);
    if (awaited.contains(op) || op->hasTrait<OpTrait::IsTerminator>() || (library && library.getCollective()))
      return false;
    return readsWaiting(op) || (sched::isLaunch(*op) && (isMatmul(op) || readsSent(op)));
  }

  void emitFirst() { emit(waiting.begin()); }

  void emit(std::deque<Waiting>::iterator at) {
    order.push_back(at->op);
    isWaiting.erase(at->op);
    waiting.erase(at);
  }

  /// What is made of others comes after them. New states keep their place among all that waits: another op of
  /// these may read the old one.
  void emitNow(Operation *op) {
    if (!isWaiting.contains(op))
      return;
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
      while (isWaiting.contains(op))
        emitFirst();
    else {
      for (Value operand : op->getOperands())
        emitNow(operand.getDefiningOp());
      if (isWaiting.contains(op))
        emit(llvm::find_if(waiting, [&](const Waiting &one) { return one.op == op; }));
    }
  }

  void emitWhat(Operation *reader) {
    while (reader->hasTrait<OpTrait::IsTerminator>() && !waiting.empty())
      emitFirst();
    for (Value operand : reader->getOperands())
      emitNow(operand.getDefiningOp());
  }

  /// Seconds of a collective during which nothing runs, if nothing follows it that waits now.
  double idleAfter(std::vector<Operation *>::iterator sent) const {
    double idle = secondsOf(*sent);
    for (auto at = std::next(sent); at != ops.end() && idle > 0; ++at) {
      if (at < end && mayWait(*at))
        continue;
      if (llvm::any_of((*at)->getOperands(),
                       [&](Value value) { return sched::rootOf(value).getDefiningOp() == *sent; }) &&
          sched::isLaunch(**at))
        return idle;
      if (!isLong(**at))
        idle -= secondsOf(*at);
    }
    return 0; // only what may wait reads it, or all of it is hidden
  }

  void fill(std::vector<Operation *>::iterator sent) {
    double idle = idleAfter(sent);
    if (idle <= 0)
      return;
    while (!waiting.empty() && (idle > 0 || waiting.front().passed >= kMostPassed - 1)) {
      idle -= secondsOf(waiting.front().op);
      emitFirst();
    }
    for (Waiting &left : waiting)
      ++left.passed;
  }

  int64_t place() const {
    int64_t moved = 0;
    for (size_t at = 1; at < order.size(); ++at) {
      moved += order[at - 1]->getNextNode() != order[at];
      order[at]->moveAfter(order[at - 1]);
    }
    return moved;
  }

  const analysis::DeviceModel &device;
  std::vector<Operation *> ops, order;
  std::vector<Operation *>::iterator end; ///< behind the last collective nothing is gained
  DenseSet<Operation *> awaited;          ///< a collective waits for them
  std::deque<Waiting> waiting;
  DenseSet<Operation *> isWaiting;
};

struct OrderCollectives : impl::OrderCollectivesBase<OrderCollectives> {
  using Base::Base;

  void run() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    if (llvm::none_of(block, isLong))
      return addStatistic("ops moved", 0);
    const analysis::DeviceModel model = analysis::loadDevice(device);
    addStatistic("ops moved", Reorder(block, model).run());
  }
};

} // namespace
} // namespace kedge::partition
