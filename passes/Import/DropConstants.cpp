#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_DROPCONSTANTS
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;

struct DropConstants : impl::DropConstantsBase<DropConstants> {
  void run() override {
    auto function = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!function)
      return;
    int64_t constants = 0, bytes = 0;
    for (unsigned index = function.getNumArguments(); index-- > 0;) {
      FlatSymbolRefAttr symbol = train::stateOfArgument(function, index);
      auto state = symbol ? getOperation().lookupSymbol<train::StateOp>(symbol) : train::StateOp();
      if (!state || state.getRole() != train::Role::Constant || !function.getArgument(index).use_empty())
        continue;
      if (failed(function.eraseArgument(index)))
        return signalPassFailure();
      if (!SymbolTable::symbolKnownUseEmpty(state, getOperation()))
        continue;
      ++constants;
      bytes += bytesOf(state.getType());
      state.erase();
    }
    addStatistic("constants dropped", constants);
    addStatistic("bytes dropped", bytes);
  }
};

} // namespace
} // namespace kedge::raise
