#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_BOUNDLABELS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct BoundLabels : impl::BoundLabelsBase<BoundLabels> {
  using Base::Base;

  void run() override {
    auto function = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!function)
      return;
    function.walk([&](train::CrossEntropyOp loss) {
      auto argument = dyn_cast<BlockArgument>(loss.getLabels());
      auto input =
          argument ? train::bindingOfArgument(function, argument.getArgNumber()) : train::BindingAttr();
      if (input && input.is(train::BindingKind::Input, labels))
        bound(loss);
    });
  }

  void bound(train::CrossEntropyOp loss) {
    Builder builder(&getContext());
    auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
    auto ignored = builder.getDenseI64ArrayAttr({static_cast<int64_t>(loss.getIgnoreIndex())});
    train::BoundsNote note(&getContext());
    NamedAttrList bounds(note.getAttr(getOperation()));
    bounds.set(labels, builder.getDictionaryAttr(
                           {builder.getNamedAttr("lo", number(0)),
                            builder.getNamedAttr("hi", number(shapeOf(loss.getLogits())[loss.getAxis()] - 1)),
                            builder.getNamedAttr("allowed", ignored)}));
    note.setAttr(getOperation(), bounds.getDictionary(&getContext()));
    addStatistic("labels bounded", 1);
  }
};

} // namespace
} // namespace kedge::autodiff
