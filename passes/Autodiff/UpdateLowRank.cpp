// GaLore and APOLLO: Adam's moments of gradients that are projected to few numbers along a side of a matrix.
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Optimizer/BasisOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Autodiff/UpdateFormula.h"
#include <cmath>

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// A matrix's shorter side, of two equal ones that of its inputs, and the update that looks along it.
class LowRank {
public:
  LowRank(ParameterUpdate &u, int64_t outputs)
      : u(u), f(u), axis(shapeOf(u.param)[outputs] >= shapeOf(u.param)[1 - outputs] ? 1 - outputs : outputs),
        side(shapeOf(u.param)[axis]), rank(std::min(u.settings.projection.rank, side)),
        gradient(f.mul(f.cast(u.gradient, f.builder.getF32Type()), u.scale)) {
    Value counted = u.countedStep();
    update = counted ? counted : u.scalar("optimizer_step");
  }

  /// [side, rank]
  RankedTensorType basisType() { return RankedTensorType::get({side, rank}, f.builder.getF32Type()); }
  Value project(Value basis) {
    return axis == 1 ? f.product(gradient, basis, false, false) : f.product(basis, gradient, true, false);
  }
  Value projectBack(Value basis, Value low) {
    return axis == 1 ? f.product(low, basis, false, true) : f.product(basis, low, false, false);
  }

  /// m / (sqrt(v) + eps) of the projected gradient; moves both along.
  Value direction(Value low) {
    Value moment1 = u.makeState(Role::Moment1, "moment1", low.getType()),
          moment2 = u.makeState(Role::Moment2, "moment2", low.getType());
    Value after1 = f.lerp(moment1, low, u.scalar("one_minus_beta1"));
    Value after2 =
        f.add(f.mul(u.scalar("beta2"), moment2), f.mul(f.mul(u.scalar("one_minus_beta2"), low), low));
    u.keep(moment1, after1);
    u.keep(moment2, after2);
    return f.div(after1, f.add(f.root(after2), u.scalar("eps")));
  }

  /// w - lr sqrt(1 - b2^t) / (1 - b1^t) step, then without its decay, as both packages have it.
  void finish(Value step) {
    Value size = f.mul(u.adamCorrection("step_size"), u.adamCorrection("bias_correction2_sqrt"));
    step = f.mul(f.scale(size, u.lrScale()), step);
    Value param = f.sub(u.param, f.cast(step, elementOf(u.param)));
    if (u.state.getDecay()) {
      Value decay = f.cast(f.scale(u.scalar("lr_decay"), u.lrScale()), elementOf(u.param));
      param = f.sub(param, f.mul(decay, param));
    }
    u.finish(param);
  }

  ParameterUpdate &u;
  UpdateMath f;
  const int64_t axis, side, rank;
  const Value gradient;
  Value update; ///< its number, from 1
};

/// Of the parameter's name: what its random numbers are told apart by.
int64_t keyOf(train::StateOp state) {
  uint32_t key = 2166136261u; // FNV-1a
  for (unsigned char letter : state.getOnnxName().value_or(state.getSymName()))
    key = (key ^ letter) * 16777619u;
  return key >> 1;
}

/// Normal numbers of variance 1 / rank, the same from one projection to the next: drawn again, not stored.
Value randomBasis(LowRank &low) {
  UpdateMath &f = low.f;
  OpBuilder &builder = f.builder;
  Value before = f.sub(low.update, f.number(low.update, 1));
  Value which = f.cast(f.div(before, f.number(before, static_cast<double>(low.u.settings.projection.gap))),
                       builder.getI64Type());
  Value row = splat(builder, f.loc, RankedTensorType::get({}, builder.getI64Type()), 0);
  auto kind = builder.getStringAttr(stringifyEnum(train::RandomKind::Normal));
  auto shape = builder.getDenseI64ArrayAttr({low.side, low.rank});
  return train::RandomOp::create(
      builder, f.loc, low.u.counter("seed"), which, row, kind, builder.getF64FloatAttr(0),
      builder.getF64FloatAttr(1 / std::sqrt(static_cast<double>(low.rank))), shape,
      TypeAttr::get(builder.getF32Type()), builder.getI64IntegerAttr(keyOf(low.u.state)),
      builder.getI64IntegerAttr(-1), builder.getI64IntegerAttr(1));
}

Value normAlong(UpdateMath &f, Value x, int64_t axis) {
  return f.root(onnx::ReduceSumOp::create(f.builder, f.loc, f.mul(x, x), ArrayRef<int64_t>{axis}, true));
}

/// What the projected gradient's Adam makes larger, in norms.
Value factorOf(LowRank &low, Value projected, Value direction) {
  UpdateMath &f = low.f;
  const bool isOfTensor = low.u.settings.projection.scaleType == ScaleType::Tensor;
  auto norm = [&](Value x) {
    return isOfTensor ? f.root(sumOfSquares(f.builder, x)) : normAlong(f, x, low.axis);
  };
  Value before = norm(projected);
  return f.div(norm(direction), f.add(before, f.number(before, 1e-8)));
}

/// The norm of a step is at most 1.01 times that of the one before.
Value limited(LowRank &low, Value step) {
  UpdateMath &f = low.f;
  Value norm = f.root(sumOfSquares(f.builder, step));
  Value before = low.u.makeState(Role::State, "step_norm", norm.getType());
  Value growth = f.div(norm, f.add(before, f.number(before, 1e-8)));
  Value limit = f.scale(f.atLeast(growth, 1.01), 1 / 1.01);
  Value isLater = f.isAbove(low.update, f.number(low.update, 1));
  limit = f.choose(isLater, limit, f.number(limit, 1));
  low.u.keep(before, f.div(norm, limit));
  return f.div(step, limit);
}
} // namespace

void updateGalore(ParameterUpdate &u) {
  auto outputs = u.state->getAttrOfType<IntegerAttr>(tune::orthogonalName);
  if (!outputs)
    return updateAdam(u);
  LowRank low(u, outputs.getInt());
  Value before = u.makeState(Role::State, "projection", low.basisType());
  Value basis = train::LeadingBasisOp::create(u.builder, u.loc, low.gradient, before, low.update,
                                              u.settings.projection.gap, low.axis);
  u.keep(before, basis);
  low.finish(
      low.f.scale(low.projectBack(basis, low.direction(low.project(basis))), u.settings.projection.scale));
}

void updateApollo(ParameterUpdate &u) {
  auto outputs = u.state->getAttrOfType<IntegerAttr>(tune::orthogonalName);
  if (!outputs)
    return updateAdam(u);
  LowRank low(u, outputs.getInt());
  Value projected = low.project(randomBasis(low));
  Value step = low.f.mul(low.gradient, factorOf(low, projected, low.direction(projected)));
  low.finish(low.f.scale(limited(low, step), std::sqrt(u.settings.projection.scale)));
}

} // namespace kedge::autodiff
