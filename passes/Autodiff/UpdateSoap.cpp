// SOAP: Adam on the gradient as it is in the eigenbasis of Shampoo's preconditioner.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/Optimizer/BasisOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Autodiff/UpdateFormula.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// One side of a matrix: the mean of the gradient's products along it, and their eigenvectors.
struct Side {
  Value products, basis; ///< before the update
  bool isLeft = true;

  Value toBasis(UpdateMath &f, Value x) const {
    return !basis ? x : isLeft ? f.product(basis, x, true, false) : f.product(x, basis, false, false);
  }
  Value fromBasis(UpdateMath &f, Value x) const {
    return !basis ? x : isLeft ? f.product(basis, x, false, false) : f.product(x, basis, false, true);
  }
};

Side makeSide(ParameterUpdate &u, bool isLeft) {
  const int64_t size = shapeOf(u.param)[isLeft ? 0 : 1];
  Side side;
  side.isLeft = isLeft;
  if (size > u.settings.longestSide)
    return side;
  auto type = RankedTensorType::get({size, size}, u.builder.getF32Type());
  side.products = u.makeState(Role::State, isLeft ? "left_products" : "right_products", type);
  side.basis = u.makeState(Role::State, isLeft ? "left_basis" : "right_basis", type);
  return side;
}

/// What is known after the step: the basis of the next one. Returns the second moment as it is there.
Value moveSide(UpdateMath &f, ParameterUpdate &u, const Side &side, Value gradient, Value update, Value rest,
               Value moment2) {
  if (!side.basis)
    return moment2;
  Value own = f.product(gradient, gradient, !side.isLeft, side.isLeft);
  Value products = f.lerp(side.products, own, rest);
  auto basis = train::EigenbasisOp::create(f.builder, f.loc, products, side.basis, update,
                                           u.settings.preconditionFrequency);
  u.keep(side.products, products);
  u.keep(side.basis, basis.getNewBasis());
  return onnx::GatherOp::create(f.builder, f.loc, moment2, basis.getOrder(),
                                f.builder.getI64IntegerAttr(side.isLeft ? 0 : 1), IntegerAttr());
}

/// lr sqrt(1 - b2^k) / (1 - b1^k), of k updates; f64 until the end.
Value stepSize(UpdateMath &f, ParameterUpdate &u, Value updates) {
  Value beta1 = u.exactScalar("exact_beta1"), beta2 = u.exactScalar("exact_beta2");
  Value k = f.cast(updates, f.builder.getF64Type());
  auto correction = [&](Value beta) {
    return f.sub(f.number(beta, 1), onnx::PowOp::create(f.builder, f.loc, beta, k));
  };
  Value size = f.div(f.mul(u.exactScalar("exact_lr"), f.root(correction(beta2))), correction(beta1));
  return f.cast(size, f.builder.getF32Type());
}
} // namespace

/// The first update only begins the preconditioner. The first moment is kept as it is outside of the basis,
/// which changes: what the authors turn out of one and into the next.
void updateSoap(ParameterUpdate &u) {
  if (!u.state->hasAttr(tune::orthogonalName))
    return updateAdam(u);
  UpdateMath f(u);
  Value gradient = f.mul(f.cast(u.gradient, f.builder.getF32Type()), u.scale);
  const Side left = makeSide(u, true), right = makeSide(u, false);
  Value moment1 = u.makeState(Role::Moment1, "moment1", gradient.getType()),
        moment2 = u.makeState(Role::Moment2, "moment2", gradient.getType());
  auto toBasis = [&](Value x) { return right.toBasis(f, left.toBasis(f, x)); };
  Value counted = u.countedStep(), update = counted ? counted : u.scalar("optimizer_step");
  Value done = f.sub(update, f.number(update, 1)), isLater = f.smaller(done, f.number(done, 1));
  Value turned = toBasis(gradient);
  Value after1 = f.lerp(moment1, gradient, f.mul(isLater, u.scalar("one_minus_beta1")));
  Value after2 = f.lerp(moment2, f.mul(turned, turned), f.mul(isLater, u.scalar("one_minus_beta2")));
  Value direction = f.div(toBasis(after1), f.add(f.root(after2), u.scalar("eps")));
  direction = left.fromBasis(f, right.fromBasis(f, direction));
  Value size = f.mul(isLater, f.scale(stepSize(f, u, f.atLeast(done, 1)), u.lrScale()));
  Value param = f.sub(u.param, f.cast(f.mul(size, direction), elementOf(u.param)));
  if (u.state.getDecay()) { // after the step, as the authors have it
    Value decay = f.mul(isLater, f.scale(u.scalar("lr_decay"), u.lrScale()));
    param = f.sub(param, f.mul(f.cast(decay, elementOf(u.param)), param));
  }
  u.finish(param);
  u.keep(moment1, after1);
  const double beta = u.settings.shampooBeta;
  Value rest = beta < 0 ? u.scalar("one_minus_beta2") : f.number(u.scale, 1 - beta);
  after2 = moveSide(f, u, left, gradient, update, rest, after2);
  u.keep(moment2, moveSide(f, u, right, gradient, update, rest, after2));
}

} // namespace kedge::autodiff
