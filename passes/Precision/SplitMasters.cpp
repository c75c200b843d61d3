#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Precision/MasterPairs.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/WorkingCopies.h"

namespace kedge::precision {
#define GEN_PASS_DEF_SPLITMASTERS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

struct SplitPair : MasterPair {
  train::StateOp residual;
};

struct SplitMasters : impl::SplitMastersBase<SplitMasters> {
  void run() override {
    SmallVector<SplitPair> pairs;
    for (MasterPair pair : masterPairs(getOperation()))
      if (cast<RankedTensorType>(pair.working.getType()).getElementType().isBF16())
        pairs.push_back({pair, makeResidual(pair.master)});
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      for (SplitPair pair : pairs)
        train::kindOf(function) == train::FunctionKind::Restore ? forgetRestored(function, pair)
                                                                : rewrite(function, pair);
      updateType(function);
      if (train::kindOf(function) == train::FunctionKind::Restore && function.getNumResults() == 0)
        function.erase();
    }
    int64_t bytes = 0;
    for (SplitPair pair : pairs) {
      bytes += bytesOf(pair.master.getType()) - bytesOf(pair.residual.getType());
      pair.master.setTypeAttr(TypeAttr::get(pair.working.getType()));
      pair.working.erase();
    }
    addStatistic("masters split", pairs.size());
    addStatistic("bytes saved", bytes);
  }

  /// Values that are given to the master are those of its residual, too.
  static train::StateOp makeResidual(train::StateOp master) {
    OpBuilder builder(master);
    builder.setInsertionPointAfter(master);
    auto type = cast<RankedTensorType>(master.getType()).clone(builder.getIntegerType(8));
    return train::StateOp::create(
        builder, master.getLoc(), builder.getStringAttr(master.getSymName() + ".residual"),
        train::RoleAttr::get(master.getContext(), train::Role::Residual), TypeAttr::get(type),
        builder.getUnitAttr(), StringAttr(), FlatSymbolRefAttr::get(master.getSymNameAttr()),
        builder.getBoolAttr(true), builder.getF64FloatAttr(1.0));
  }

  /// Who read the master reads both parts, and its new value is taken apart.
  void rewrite(func::FuncOp function, SplitPair pair) {
    readCopy(function, pair, [&](PlacedBuilder &builder, Value narrow) {
      const unsigned argument = function.getNumArguments();
      (void)function.insertArgument(argument, pair.residual.getType(),
                                    train::boundTo(bindingOf(pair.residual)), function.getLoc());
      return train::JoinOp::create(builder, pair.master.getLoc(), narrow, function.getArgument(argument))
          .getX();
    });
    if (std::optional<unsigned> result = resultOf(function, pair.master)) {
      Operation *terminator = function.getBody().front().getTerminator();
      PlacedBuilder builder(terminator, updateOf(pair.master));
      auto split = train::SplitOp::create(builder, pair.master.getLoc(), terminator->getOperand(*result));
      terminator->setOperand(*result, split.getValue());
      const unsigned end = function.getNumResults();
      (void)function.insertResult(end, pair.residual.getType(), train::boundTo(bindingOf(pair.residual)));
      terminator->insertOperands(end, split.getResidual());
    }
    eraseCopyResult(function, pair);
  }
};
} // namespace
} // namespace kedge::precision
