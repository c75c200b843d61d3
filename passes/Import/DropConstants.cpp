#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Import/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::raise {
#define GEN_PASS_DEF_DROPCONSTANTS
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;

/// How often each symbol is named, counted once for all of them.
class SymbolCounts {
public:
  explicit SymbolCounts(ModuleOp module)
      : isKnown(add(SymbolTable::getSymbolUses(&module.getBodyRegion()), 1)) {}

  bool isUnused(StringAttr symbol) const { return isKnown && counts.lookup(symbol) == 0; }
  /// What an operation names that goes.
  void forget(Operation *op) { isKnown &= add(SymbolTable::getSymbolUses(op), -1); }

private:
  bool add(std::optional<SymbolTable::UseRange> uses, int64_t each) {
    if (!uses)
      return false;
    for (SymbolTable::SymbolUse use : *uses)
      counts[use.getSymbolRef().getRootReference()] += each;
    return true;
  }

  llvm::DenseMap<StringAttr, int64_t> counts;
  bool isKnown;
};

struct DropConstants : impl::DropConstantsBase<DropConstants> {
  void run() override {
    auto function = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!function)
      return;
    dropUnnamed(eraseUnread(function));
  }

  /// Erases arguments; the constants that they were, the last first.
  llvm::SmallVector<train::StateOp> eraseUnread(func::FuncOp function) {
    const SymbolTable symbols(getOperation());
    llvm::SetVector<Operation *> unread;
    BitVector erased(function.getNumArguments());
    for (unsigned index = function.getNumArguments(); index-- > 0;) {
      FlatSymbolRefAttr symbol = train::stateOfArgument(function, index);
      auto state = symbol ? symbols.lookup<train::StateOp>(symbol.getAttr()) : train::StateOp();
      if (!state || state.getRole() != train::Role::Constant || !function.getArgument(index).use_empty())
        continue;
      erased.set(index);
      unread.insert(state);
    }
    if (erased.any() && failed(function.eraseArguments(erased)))
      signalPassFailure();
    return llvm::map_to_vector(unread, [](Operation *op) { return cast<train::StateOp>(op); });
  }

  void dropUnnamed(llvm::ArrayRef<train::StateOp> states) {
    int64_t constants = 0, bytes = 0;
    SymbolCounts counts(getOperation());
    for (train::StateOp state : states) {
      if (!counts.isUnused(state.getSymNameAttr()))
        continue;
      ++constants;
      bytes += bytesOf(state.getType());
      counts.forget(state);
      state.erase();
    }
    addStatistic("constants dropped", constants);
    addStatistic("bytes dropped", bytes);
  }
};

} // namespace
} // namespace kedge::raise
