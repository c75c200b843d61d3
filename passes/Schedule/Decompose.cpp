#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

struct Decompose : impl::DecomposeBase<Decompose> {
  using Base::Base;

  void run() override {
    SmallVector<DecomposableOpInterface> work;
    auto collect = [&](Operation *op) {
      if (auto composite = dyn_cast<DecomposableOpInterface>(op); composite && !composite.hasKernelOn(target))
        work.push_back(composite);
    };
    getOperation().walk(collect);
    int64_t rewritten = 0;
    while (!work.empty()) {
      DecomposableOpInterface composite = work.pop_back_val();
      if (failed(rewrite(composite, collect)))
        return signalPassFailure();
      ++rewritten;
    }
    addStatistic("ops rewritten", rewritten);
  }

  LogicalResult rewrite(DecomposableOpInterface composite, function_ref<void(Operation *)> collect) {
    PlacedBuilder builder(composite);
    Operation *before = composite->getPrevNode();
    SmallVector<Value> results;
    if (failed(composite.decompose(builder, results)))
      return composite->emitOpError("cannot be decomposed");
    giveValueNotes(composite, results);
    composite->replaceAllUsesWith(results);
    Operation *first = before ? before->getNextNode() : &composite->getBlock()->front();
    for (Operation *op = first; op != composite; op = op->getNextNode())
      collect(op);
    composite->erase();
    return success();
  }
};
} // namespace
} // namespace kedge::schedule
