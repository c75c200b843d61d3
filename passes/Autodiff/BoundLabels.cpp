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
    train::BoundsNote note(&getContext());
    if (auto noted = note.getAttr(function)) {
      for (NamedAttribute entry : noted)
        bound(entry.getName(), cast<DictionaryAttr>(entry.getValue()));
      note.removeAttr(function);
    }
    function.walk([&](train::CrossEntropyOp loss) {
      auto argument = dyn_cast<BlockArgument>(loss.getLabels());
      if (!argument)
        return;
      if (auto input = train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input))
        bound(input.getName(), boundsOf(loss));
    });
  }

  DictionaryAttr boundsOf(train::CrossEntropyOp loss) {
    Builder builder(&getContext());
    auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
    auto ignored = builder.getDenseI64ArrayAttr({static_cast<int64_t>(loss.getIgnoreIndex())});
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("lo", number(0)),
         builder.getNamedAttr("hi", number(shapeOf(loss.getLogits())[loss.getAxis()] - 1)),
         builder.getNamedAttr("allowed", ignored)});
  }

  void bound(StringRef name, DictionaryAttr range) {
    train::BoundsNote note(&getContext());
    NamedAttrList bounds(note.getAttr(getOperation()));
    bounds.set(name, range);
    note.setAttr(getOperation(), bounds.getDictionary(&getContext()));
    addStatistic("labels bounded", 1);
  }
};

} // namespace
} // namespace kedge::autodiff
