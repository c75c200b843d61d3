#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISESWIGLU
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseSwiglu : impl::RaiseSwigluBase<RaiseSwiglu> {
  bool raise(SwishOp root) override {
    Operation *user = onlyUser(root.getY());
    Value up = user && isa<MulOp>(user) ? otherOperand(user, root.getY()) : Value();
    if (!up || up.getType() != root.getX().getType() || !root.getAlpha().isExactlyValue(1.0))
      return false;
    PlacedBuilder builder(user);
    Value swiglu = train::SwigluOp::create(builder, user->getLoc(), root.getX(), up);
    user->getResult(0).replaceAllUsesWith(swiglu);
    return true;
  }
};
} // namespace
} // namespace kedge::raise
