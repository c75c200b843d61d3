#include "lib/Dialect/ONNX/Composite/CompositeOps.h"
#include "lib/Dialect/ONNX/Math/ActivationOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/Train/TrainDialect.h"
#include "lib/Support/Statistics.h"
#include "passes/Import/MatchUtils.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISESILU
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseSilu : impl::RaiseSiluBase<RaiseSilu> {
  void runOnOperation() override {
    SmallVector<SigmoidOp> roots;
    getOperation().walk([&](SigmoidOp op) { roots.push_back(op); });
    int64_t count = 0;
    for (SigmoidOp root : roots)
      count += raise(root);
    eraseDead(getOperation());
    addStatistic("kedge-raise-silu", "silus", count);
  }

  static bool raise(SigmoidOp root) {
    Scaled argument = withoutScale(root.getX());
    for (Operation *user : usersOf(root.getResult())) {
      Value x = isa<MulOp>(user) ? otherOperand(user, root.getResult()) : Value();
      if (!x)
        continue;
      double alpha = 1.0;
      if (!same(x, root.getX())) {
        if (!same(x, argument.value))
          continue;
        alpha = argument.scale;
      }
      PlacedBuilder builder(user);
      Value swish = SwishOp::create(builder, user->getLoc(), x, APFloat(float(alpha)));
      user->getResult(0).replaceAllUsesWith(swish);
      return true;
    }
    return false;
  }
};
} // namespace
} // namespace kedge::raise
