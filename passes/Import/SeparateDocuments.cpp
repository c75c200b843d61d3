#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_SEPARATEDOCUMENTS
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;

/// Queries and keys of an attention, and the rows that they are of.
struct Lengths {
  int64_t rows, queries, keys;
};

Lengths lengthsOf(train::AttentionOp attention) {
  const bool headsFirst = attention.getKLayout() == train::AttentionLayout::BHTD;
  ArrayRef<int64_t> sums = shapeOf(attention.getLSE());
  return {sums[0], sums[2], shapeOf(attention.getK())[headsFirst ? 2 : 1]};
}

struct SeparateDocuments : impl::SeparateDocumentsBase<SeparateDocuments> {
  using Base::Base;

  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model)
      return;
    SmallVector<train::AttentionOp> attentions;
    function.walk([&](train::AttentionOp op) { attentions.push_back(op); });
    if (attentions.empty()) {
      function.emitError("--documents: the model has no attention to keep documents apart in");
      return signalPassFailure();
    }
    const Lengths first = lengthsOf(attentions.front());
    if (failed(check(attentions, first)) || failed(checkOthers(function, first.queries)))
      return signalPassFailure();
    Builder b(&getContext());
    const unsigned index = function.getNumArguments();
    auto type = RankedTensorType::get({first.rows, first.queries + 1}, b.getI64Type());
    auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::Input, "document_borders");
    if (failed(function.insertArgument(index, type, train::boundTo(binding), function.getLoc())))
      return signalPassFailure();
    for (train::AttentionOp attention : attentions)
      attention.getDocumentsMutable().assign(function.getArgument(index));
    addStatistic("attentions", static_cast<int64_t>(attentions.size()));
  }

  /// Each query has its own key, in the same rows everywhere.
  LogicalResult check(ArrayRef<train::AttentionOp> attentions, const Lengths &first) {
    for (train::AttentionOp op : attentions) {
      auto attention = op;
      const Lengths own = lengthsOf(attention);
      if (own.queries != own.keys)
        return attention.emitOpError("reads ")
               << own.keys << " keys for " << own.queries
               << " queries: documents in such an attention are not available yet";
      if (own.rows != first.rows || own.queries != first.queries)
        return attention.emitOpError("works on ")
               << own.rows << " rows of " << own.queries << " tokens, and another attention on " << first.rows
               << " of " << first.queries << ": documents in such a model are not available yet";
    }
    return success();
  }

  /// A softmax over scores that were not recognised as an attention's would see across borders.
  LogicalResult checkOthers(func::FuncOp function, int64_t length) {
    Operation *other = nullptr;
    function.walk([&](onnx::SoftmaxOp op) {
      ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
      if (shape.size() >= 2 && shape.back() >= length && shape[shape.size() - 2] == length && length > 1)
        other = op;
    });
    if (!other)
      return success();
    return other->emitOpError("is over ")
           << other->getResult(0).getType()
           << ", and belongs to no attention that is recognised: its documents cannot be kept apart";
  }
};

} // namespace
} // namespace kedge::raise
