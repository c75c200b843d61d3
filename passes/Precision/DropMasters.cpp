#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Precision/MasterPairs.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_DROPMASTERS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

struct DropMasters : impl::DropMastersBase<DropMasters> {
  void run() override {
    const SmallVector<MasterPair> pairs = masterPairs(getOperation());
    int64_t bytes = 0;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      for (MasterPair pair : pairs)
        train::kindOf(function) == train::FunctionKind::Restore ? forgetRestored(function, pair)
                                                                : rewrite(function, pair);
      updateType(function);
      if (train::kindOf(function) == train::FunctionKind::Restore && function.getNumResults() == 0)
        function.erase();
    }
    for (MasterPair pair : pairs) {
      bytes += bytesOf(pair.master.getType());
      pair.master.setTypeAttr(TypeAttr::get(pair.working.getType()));
      pair.working.erase();
    }
    addStatistic("masters dropped", pairs.size());
    addStatistic("bytes saved", bytes);
  }

  /// Who read the master reads the 16-bit value, widened.
  void rewrite(func::FuncOp function, MasterPair pair) {
    readCopy(function, pair, [](PlacedBuilder &builder, Value narrow) {
      return onnx::CastOp::create(builder, narrow.getLoc(), narrow, TypeAttr::get(builder.getF32Type()))
          .getResult();
    });
    if (std::optional<unsigned> result = resultOf(function, pair.master))
      roundResult(function, pair, *result);
    eraseCopyResult(function, pair);
  }

  void roundResult(func::FuncOp function, MasterPair pair, unsigned result) {
    Operation *terminator = function.getBody().front().getTerminator();
    PlacedBuilder builder(terminator, updateOf(pair.master));
    Value exact = terminator->getOperand(result);
    Value seed = scalar(function, "seed"), step = scalar(function, "step");
    Value rounded = train::StochasticRoundOp::create(builder, exact.getLoc(), exact, seed, step,
                                                     builder.getI64IntegerAttr(pair.id));
    terminator->setOperand(result, rounded);
  }

  Value scalar(func::FuncOp function, StringRef name) {
    for (BlockArgument argument : function.getArguments())
      if (auto binding = train::bindingOfArgument(function, argument.getArgNumber());
          binding && binding.is(BindingKind::Scalar, name))
        return argument;
    auto binding = train::BindingAttr::get(&getContext(), BindingKind::Scalar, name);
    auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
    (void)function.insertArgument(function.getNumArguments(), type, train::boundTo(binding),
                                  function.getLoc());
    return function.getArguments().back();
  }
};
} // namespace
} // namespace kedge::precision
