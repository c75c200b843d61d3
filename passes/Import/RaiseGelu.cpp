#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"
#include <cmath>

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEGELU
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

/// The x of erf(x / sqrt 2) or of tanh(sqrt(2/pi) (x + 0.044715 x^3)); null when the argument is another.
Value argumentOf(Operation *op) {
  double linear = isa<ErfOp>(op) ? M_SQRT1_2 : std::sqrt(2 / M_PI);
  double cubic = isa<ErfOp>(op) ? 0.0 : 0.044715 * linear;
  for (Value x : ancestors(op->getOperand(0), 6)) {
    auto p = polynomialOf(op->getOperand(0), x);
    if (p && (*p)[0] == 0 && isNear((*p)[1], linear) && (*p)[2] == 0 && isNear((*p)[3], cubic))
      return x;
  }
  return {};
}

/// Follows 1 + f(x) up through products with x and numbers until they make x / 2 (1 + f(x)).
struct Climb {
  Value x, result;

  void from(Value v, double factor, bool hasX, unsigned depth) {
    if (hasX && isNear(factor, 0.5)) {
      result = v;
      return;
    }
    for (Operation *user : usersOf(v)) {
      if (result || depth == 0 || !isa<MulOp, DivOp>(user))
        continue;
      Value other = otherOperand(user, v);
      if (!other || user->getResult(0).getType() != x.getType())
        continue;
      bool divides = isa<DivOp>(user);
      if (divides && skip(user->getOperand(1)) == skip(v))
        continue;
      if (auto number = splatOf(other)) {
        from(user->getResult(0), divides ? factor / *number : factor * *number, hasX, depth - 1);
        continue;
      }
      Scaled scaled = withoutScale(other);
      bool isX = same(other, x), isScaledX = same(scaled.value, x);
      if (!hasX && !divides && (isX || isScaledX))
        from(user->getResult(0), factor * (isX ? 1.0 : scaled.scale), true, depth - 1);
    }
  }
};

struct RaiseGelu : impl::RaiseGeluBase<RaiseGelu> {
  bool raise(Operation *root) override {
    Value x = argumentOf(root);
    if (!x)
      return false;
    Climb climb{x, {}};
    for (Operation *user : usersOf(root->getResult(0))) {
      Value one = isa<AddOp>(user) ? otherOperand(user, root->getResult(0)) : Value();
      if (one && isSplat(one, 1.0) && !climb.result)
        climb.from(user->getResult(0), 1.0, false, 3);
    }
    if (!climb.result)
      return false;
    PlacedBuilder builder(climb.result.getDefiningOp());
    Value gelu = GeluOp::create(builder, climb.result.getLoc(), x,
                                isa<ErfOp>(root) ? Approximation::None : Approximation::Tanh);
    climb.result.replaceAllUsesWith(gelu);
    return true;
  }
};
} // namespace
} // namespace kedge::raise
