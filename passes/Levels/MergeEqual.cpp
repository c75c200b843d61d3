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

/// What an op says of itself that does not tell it from an equal one.
struct Notes {
  DictionaryAttr all; ///< with what stays on the op
  PlaceAttr place;
};

/// What the forward needs, too, belongs to it: an op of the backward may be in front of its equal there.
struct ForwardPlaces : RewriterBase::Listener {
  DenseMap<Operation *, Notes> notes;
  DenseMap<Operation *, PlaceAttr> changed;

  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    Operation *kept = replacement.empty() ? nullptr : replacement.front().getDefiningOp();
    const PlaceAttr own = placeOf(op), other = kept ? placeOf(kept) : PlaceAttr();
    if (own && other && own.getPhase() == TrainingPhase::Forward &&
        other.getPhase() != TrainingPhase::Forward)
      changed[kept] = own;
  }

private:
  PlaceAttr placeOf(Operation *op) const {
    const PlaceAttr place = changed.lookup(op);
    return place ? place : notes.lookup(op).place;
  }
};

/// Without the notes; equal dictionaries are one, so most of them cost nothing.
DictionaryAttr withoutNotes(DictionaryAttr all) {
  SmallVector<NamedAttribute> left;
  for (NamedAttribute entry : all)
    if (entry.getName() != placeName && entry.getName() != valuesName)
      left.push_back(entry);
  return DictionaryAttr::getWithSorted(all.getContext(), left);
}

struct MergeEqual : impl::MergeEqualBase<MergeEqual> {
  void run() override {
    func::FuncOp function = getOperation();
    ForwardPlaces listener;
    int64_t before = 0, after = 0;
    function.walk([&](Operation *op) {
      ++before;
      const DictionaryAttr all = op->getDiscardableAttrDictionary();
      if (!all.contains(placeName) && !all.contains(valuesName))
        return;
      listener.notes[op] = {all, placeOf(op)};
      op->setDiscardableAttrs(withoutNotes(all));
    });
    IRRewriter rewriter(&getContext(), &listener);
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    function.walk([&](Operation *op) {
      ++after;
      if (const DictionaryAttr all = listener.notes.lookup(op).all)
        op->setDiscardableAttrs(all);
      setPlace(op, listener.changed.lookup(op));
    });
    addStatistic("ops merged", before - after);
  }
};
} // namespace
} // namespace kedge::levels
