#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_DEQUANTIZEAGAIN
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Values stay for readers at most this many launches apart.
constexpr int64_t kReach = 4;

struct DequantizeAgain : impl::DequantizeAgainBase<DequantizeAgain> {
  DenseMap<Operation *, int64_t> position;
  DenseSet<Operation *> derived; ///< from weights in few bits alone
  int64_t clones = 0;

  void run() override {
    position.clear();
    derived.clear();
    clones = firstNumber = 0;
    if (getOperation().isExternal())
      return;
    noteEncoded();
    SmallVector<Operation *> ops;
    for (Operation &op : getOperation().getBody().front().without_terminator()) {
      position[&op] = static_cast<int64_t>(position.size());
      if (auto number = op.getAttrOfType<IntegerAttr>("clone"))
        firstNumber = std::max(firstNumber, number.getInt());
      if (op.getNumOperands() == 0 || isTransfer(op) ||
          !llvm::all_of(op.getOperands(), [&](Value v) { return isDerived(v); }))
        continue;
      derived.insert(&op);
      ops.push_back(&op);
    }
    for (Operation *op : ops)
      for (Value result : op->getResults())
        divide(result);
    addStatistic("clones", clones);
  }

  int64_t firstNumber = 0;
  llvm::DenseSet<Value> encoded;

  /// Its token may be a constant; it is sent once.
  static bool isTransfer(Operation &op) {
    auto library = dyn_cast<sched::LibraryOp>(op);
    return library && library.callsAny<dist::SendOp, dist::ReceiveOp>();
  }

  bool isDerived(Value value) {
    if (Operation *op = value.getDefiningOp())
      return derived.contains(op) || op->getNumOperands() == 0;
    return encoded.contains(value);
  }

  /// Arguments of states in few bits.
  void noteEncoded() {
    encoded.clear();
    const SymbolTable symbols(getOperation()->getParentOfType<ModuleOp>());
    for (BlockArgument argument : getOperation().getArguments())
      if (auto name = train::stateOfArgument(getOperation(), argument.getArgNumber()))
        if (auto state = symbols.lookup<train::StateOp>(name.getAttr()); state && tune::encodingOf(state))
          encoded.insert(argument);
  }

  void divide(Value value) {
    SmallVector<Operation *> readers;
    for (Operation *user : value.getUsers())
      if (!derived.contains(user) && position.contains(user) && !llvm::is_contained(readers, user))
        readers.push_back(user);
    llvm::sort(readers, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    for (size_t at = 1; at < readers.size(); ++at) {
      if (position[readers[at]] - position[readers[at - 1]] <= kReach)
        continue;
      SmallVector<Operation *> late(llvm::drop_begin(readers, at));
      PlacedBuilder builder(late.front(), placeOf(late.front()));
      DenseMap<Value, Value> copies;
      Value again = copyOf(value, builder, copies);
      for (Operation *reader : late)
        reader->replaceUsesOfWith(value, again);
      value = again;
    }
  }

  Value copyOf(Value value, OpBuilder &builder, DenseMap<Value, Value> &copies) {
    Operation *op = value.getDefiningOp();
    if (!op || !derived.contains(op))
      return value;
    if (Value known = copies.lookup(value))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(copyOf(operand, builder, copies));
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    if (sched::isLaunch(*op))
      copy->setAttr("clone", builder.getI64IntegerAttr(firstNumber + ++clones));
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      copies[from] = to;
    return copies[value];
  }
};
} // namespace
} // namespace kedge::schedule
