#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Levels/Passes.h"

namespace kedge::levels {
#define GEN_PASS_DEF_MERGEEQUAL
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

/// What the forward needs, too, belongs to it: an op of the backward may be in front of its equal there.
struct ForwardPlaces : RewriterBase::Listener {
  DenseMap<Operation *, PlaceAttr> places;

  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    Operation *kept = replacement.empty() ? nullptr : replacement.front().getDefiningOp();
    const PlaceAttr own = places.lookup(op);
    if (kept && own && own.getPhase() == TrainingPhase::Forward && places.contains(kept) &&
        places[kept].getPhase() != TrainingPhase::Forward)
      places[kept] = own;
  }
};

struct MergeEqual : impl::MergeEqualBase<MergeEqual> {
  void run() override {
    func::FuncOp function = getOperation();
    ForwardPlaces listener;
    DenseMap<Operation *, PlaceAttr> &places = listener.places;
    DenseMap<Operation *, Attribute> values;
    int64_t before = 0, after = 0;
    function.walk([&](Operation *op) {
      ++before;
      if (PlaceAttr place = placeOf(op))
        places[op] = place;
      if (Attribute notes = op->removeDiscardableAttr(valuesName))
        values[op] = notes;
      op->removeDiscardableAttr(placeName);
    });
    IRRewriter rewriter(&getContext(), &listener);
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    function.walk([&](Operation *op) {
      ++after;
      setPlace(op, places.lookup(op));
      if (Attribute notes = values.lookup(op))
        op->setDiscardableAttr(valuesName, notes);
    });
    addStatistic("ops merged", before - after);
  }
};
} // namespace
} // namespace kedge::levels
