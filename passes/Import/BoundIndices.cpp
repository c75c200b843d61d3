#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Interfaces/ViewOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_BOUNDINDICES
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;

/// Size of the dim that a value's elements index, followed through casts and views; -1 when they index none.
int64_t indexedSize(Value value) {
  int64_t size = -1;
  auto narrow = [&](int64_t candidate) {
    size = candidate < 0 ? size : size < 0 ? candidate : std::min(size, candidate);
  };
  for (OpOperand &use : value.getUses()) {
    if (auto gather = dyn_cast<onnx::GatherOp>(use.getOwner()); gather && use.getOperandNumber() == 1)
      narrow(shapeOf(gather->getOperand(0))[gather.getAxis()]);
    else if (isa<ViewOpInterface, onnx::CastOp>(use.getOwner()) && !isa<onnx::BitCastOp>(use.getOwner()))
      narrow(indexedSize(use.getOwner()->getResult(0)));
  }
  return size;
}

struct BoundIndices : impl::BoundIndicesBase<BoundIndices> {
  void run() override {
    Builder builder(&getContext());
    SmallVector<NamedAttribute> bounds;
    auto function = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!function)
      return;
    for (BlockArgument argument : function.getArguments()) {
      auto input = train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input);
      if (!input || !isa<IntegerType>(elementOf(argument)))
        continue;
      if (int64_t size = indexedSize(argument); size > 0)
        bounds.push_back(builder.getNamedAttr(
            input.getName(),
            builder.getDictionaryAttr({builder.getNamedAttr("lo", builder.getI64IntegerAttr(0)),
                                       builder.getNamedAttr("hi", builder.getI64IntegerAttr(size - 1))})));
    }
    train::BoundsNote(&getContext()).setAttr(getOperation(), builder.getDictionaryAttr(bounds));
    addStatistic("inputs bounded", bounds.size());
  }
};

} // namespace
} // namespace kedge::raise
