#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISESILU
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseSilu : impl::RaiseSiluBase<RaiseSilu> {
  bool raise(SigmoidOp root) override {
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
