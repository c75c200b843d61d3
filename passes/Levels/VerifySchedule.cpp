#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Levels/Border.h"
#include "passes/Levels/Passes.h"

namespace kedge::levels {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

struct VerifySchedule : impl::VerifyScheduleBase<VerifySchedule> {
  void run() override {
    auto isScheduled = [](Operation *op) {
      return isa<sched::ClusterOp, sched::LibraryOp, sched::ViewOp, sched::OffloadOp, sched::FetchOp,
                 onnx::ConstantOp, train::FinalGradientOp>(op);
    };
    Border border(getOperation(), "level 3 (clusters, library calls, views, copies and constants)",
                  isScheduled);
    border.checkFunctions();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (StringRef left : {sched::SequenceNote::getNameStr(), sched::OffloadableNote::getNameStr()})
        if (function->hasAttr(left))
          border.error(function) << "has '" << left << "', which kedge-insert-recompute carries out";
      checkClones(border, function);
      function.walk([&](sched::LibraryOp call) { checkAttributes(border, call); });
    }
    addStatistic("ops checked", border.checked);
    if (border.failed)
      signalPassFailure();
  }

  /// A call has the attributes of the op that it was. A kernel without an op is refused where kernels are
  /// looked for.
  static void checkAttributes(Border &border, sched::LibraryOp call) {
    NamedAttrList attrs(call.getAttrs());
    auto op = RegisteredOperationName::lookup(call.getKernel(), call.getContext());
    if (op && failed(op->verifyInherentAttrs(
                  attrs, [&] { return border.error(call) << "calls '" << call.getKernel() << "': "; })))
      border.failed = true;
  }

  /// Two clones of one number could be merged, and the memory that recomputation frees would stay taken.
  static void checkClones(Border &border, func::FuncOp function) {
    DenseMap<int64_t, Operation *> known;
    function.walk([&](Operation *op) {
      auto clone = op->getAttrOfType<IntegerAttr>("clone");
      if (!clone)
        return;
      auto [other, isNew] = known.try_emplace(clone.getInt(), op);
      if (!isNew)
        (border.error(op) << "is clone " << clone.getInt() << " of its function, as another launch is")
                .attachNote(other->second->getLoc())
            << "the other is here";
    });
  }
};
} // namespace
} // namespace kedge::levels
