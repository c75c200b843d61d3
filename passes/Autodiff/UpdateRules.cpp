// Optimizers that are one op per parameter.
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "passes/Autodiff/UpdateFormula.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// The host's numbers are f32; an update of an f64 parameter computes in f64.
SmallVector<Value> inOneType(const ParameterUpdate &u, SmallVector<Value> operands) {
  for (Value &operand : operands)
    if (elementOf(u.param).isF64() && elementOf(operand).isF32())
      operand = onnx::CastOp::create(u.builder, u.loc, operand, TypeAttr::get(elementOf(u.param)));
  return operands;
}
} // namespace

/// A moment of the parameter's shape: a state in the type of --moments, read in that of the parameter.
struct Moment {
  Value state, value;
};

static Moment makeMoment(ParameterUpdate &u, Role role, StringRef suffix) {
  auto type = cast<RankedTensorType>(u.param.getType());
  if (u.settings.moments != Moments::Bf16 || !type.getElementType().isF32()) {
    Value state = u.makeState(role, suffix);
    return {state, state};
  }
  Value state = u.makeState(role, suffix, type.clone(u.builder.getBF16Type()));
  return {state, onnx::CastOp::create(u.builder, u.loc, state, TypeAttr::get(type.getElementType()))};
}

/// A mean over many steps changes by less than bf16 can tell, so it is rounded by chance.
static void keepMoment(ParameterUpdate &u, Moment before, Value after) {
  if (before.state != before.value)
    after = train::DitherOp::create(u.builder, u.loc, after, before.value, u.counter("step"));
  u.keep(before.state, after);
}

/// What Adam's ops take behind the gradient.
static SmallVector<Value> adamNumbers(ParameterUpdate &u, bool decoupled) {
  SmallVector<Value> numbers = {u.scale, u.scalar(decoupled ? "lr_decay" : "weight_decay"),
                                u.adamCorrection("step_size")};
  numbers.append(scalars(u, {"one_minus_beta1", "beta2", "one_minus_beta2"}));
  numbers.push_back(u.adamCorrection("bias_correction2_sqrt"));
  numbers.push_back(u.scalar("eps"));
  return numbers;
}

/// The share of the elements for which `which` is 1.
static Value shareOf(ParameterFormula &f, Value which) {
  const dist::RankGroup group = dist::dataGroup(f.u.state->getParentOfType<ModuleOp>());
  const double all = static_cast<double>(elementCount(shapeOf(which)));
  Value own =
      group.isAlone() ? which : dist::LocalShardOp::create(f.builder, f.loc, which, group).getResult(0);
  Value count = sumOfSquares(f.builder, own);
  if (!group.isAlone())
    count = dist::AllReduceOp::create(f.builder, f.loc, count, group, dist::ReduceKind::Sum).getResult(0);
  return f.scale(count, 1 / all);
}

/// AdamW that leaves out the elements of a step that go against their gradient, and is the larger for the
/// rest; or the decay of those that the step makes larger.
static void updateCautiousAdamW(ParameterUpdate &u) {
  ParameterFormula f(u);
  const Moment moment1 = makeMoment(u, Role::Moment1, "moment1"),
               moment2 = makeMoment(u, Role::Moment2, "moment2");
  Value g = f.gradient(), after1 = f.lerp(moment1.value, g, f.host("one_minus_beta1"));
  Value after2 = f.secondMoment(moment2.value, g, f.host("beta2"), f.host("one_minus_beta2"));
  Value direction =
      f.div(after1,
            f.add(f.div(f.root(after2), f.inType(u.adamCorrection("bias_correction2_sqrt"))), f.host("eps")));
  if (u.settings.caution == Caution::Updates) {
    Value agrees = f.inType(f.isAbove(f.mul(after1, g), f.number(g, 0)));
    direction = f.mul(direction, f.div(agrees, f.inType(f.atLeast(shareOf(f, agrees), 1e-3))));
  }
  Value param = u.param;
  if (u.state.getDecay()) {
    Value decay = f.mul(f.rate(u.scalar("lr_decay")), param);
    if (u.settings.caution == Caution::Decay)
      decay = f.choose(f.isAbove(f.number(g, 0), f.mul(direction, param)), f.number(decay, 0), decay);
    param = f.sub(param, decay);
  }
  u.finish(f.sub(param, f.mul(f.rate(u.adamCorrection("step_size")), direction)));
  keepMoment(u, moment1, after1);
  keepMoment(u, moment2, after2);
}

void updateAdam(ParameterUpdate &u) {
  const bool decoupled = u.settings.optimizer != Optimizer::Adam;
  if (u.settings.caution != Caution::None)
    return updateCautiousAdamW(u);
  if (isCompanded(u))
    return updateCompanded(u, decoupled ? train::CompandedRule::AdamW : train::CompandedRule::Adam,
                           {{Role::Moment1, "moment1"}, {Role::Moment2, "moment2"}},
                           adamNumbers(u, decoupled));
  if (isOf4bits(u))
    return updateAdam4bit(u, decoupled, adamNumbers(u, decoupled));
  const Moment moment1 = makeMoment(u, Role::Moment1, "moment1"),
               moment2 = makeMoment(u, Role::Moment2, "moment2");
  SmallVector<Value> operands = {u.param, moment1.value, moment2.value, u.gradient};
  llvm::append_range(operands, adamNumbers(u, decoupled));
  operands = inOneType(u, operands);
  Operation *op = decoupled
                      ? train::AdamWOp::create(u.builder, u.loc, operands, u.attributes()).getOperation()
                      : train::AdamOp::create(u.builder, u.loc, operands, u.attributes()).getOperation();
  u.finish(op->getResult(0));
  keepMoment(u, moment1, op->getResult(1));
  keepMoment(u, moment2, op->getResult(2));
}

void updateSGD(ParameterUpdate &u) {
  Value decay = u.scalar("weight_decay"), rate = u.scalar("lr");
  SmallVector<NamedAttribute> attributes = u.attributes();
  if (u.settings.momentum == 0) {
    SmallVector<Value> operands = inOneType(u, {u.param, u.gradient, u.scale, decay, rate});
    return u.finish(train::SGDOp::create(u.builder, u.loc, operands, attributes).getNewParam());
  }
  attributes.push_back(u.builder.getNamedAttr("nesterov", u.builder.getBoolAttr(u.settings.nesterov)));
  if (isCompanded(u))
    return updateCompanded(u, train::CompandedRule::Momentum, {{Role::Momentum, "momentum"}},
                           {u.scale, decay, rate, u.scalar("momentum")});
  const Moment before = makeMoment(u, Role::Momentum, "momentum");
  SmallVector<Value> operands =
      inOneType(u, {u.param, before.value, u.gradient, u.scale, decay, rate, u.scalar("momentum")});
  auto sgd = train::MomentumOp::create(u.builder, u.loc, operands, attributes);
  u.finish(sgd.getNewParam());
  keepMoment(u, before, sgd.getNewBuffer());
}

void updateLion(ParameterUpdate &u) {
  const SmallVector<StringRef> names = {"lr_decay",        "lr",    "beta1",
                                        "one_minus_beta1", "beta2", "one_minus_beta2"};
  if (isCompanded(u)) {
    SmallVector<Value> numbers = {u.scale};
    numbers.append(scalars(u, names));
    return updateCompanded(u, train::CompandedRule::Lion, {{Role::Moment1, "moment1"}}, numbers);
  }
  const Moment moment = makeMoment(u, Role::Moment1, "moment1");
  SmallVector<Value> operands = {u.param, moment.value, u.gradient, u.scale};
  operands.append(scalars(u, names));
  auto lion = train::LionOp::create(u.builder, u.loc, inOneType(u, operands), u.attributes());
  u.finish(lion.getNewParam());
  keepMoment(u, moment, lion.getNewMoment());
}

void updateRMSprop(ParameterUpdate &u) {
  const bool buffered = u.settings.momentum != 0;
  SmallVector<Value> operands = {u.param, u.makeState(Role::Moment2, "moment2")};
  if (buffered)
    operands.push_back(u.makeState(Role::Momentum, "momentum"));
  SmallVector<Value> states(llvm::drop_begin(operands));
  operands.append({u.gradient, u.scale});
  operands.append(scalars(u, {"weight_decay", "lr", "beta2", "one_minus_beta2", "eps"}));
  if (buffered)
    operands.push_back(u.scalar("momentum"));
  operands = inOneType(u, operands);
  Operation *op =
      buffered ? train::RMSpropMomentumOp::create(u.builder, u.loc, operands, u.attributes()).getOperation()
               : train::RMSpropOp::create(u.builder, u.loc, operands, u.attributes()).getOperation();
  u.finish(op->getResult(0));
  for (auto [before, after] : llvm::zip(states, op->getResults().drop_front()))
    u.keep(before, after);
}

void updateAdagrad(ParameterUpdate &u) {
  Value square = u.makeState(Role::Moment2, "moment2");
  SmallVector<Value> operands = {u.param, square, u.gradient, u.scale};
  operands.append(scalars(u, {"weight_decay", "lr", "eps"}));
  auto adagrad = train::AdagradOp::create(u.builder, u.loc, inOneType(u, operands), u.attributes());
  u.finish(adagrad.getNewParam());
  u.keep(square, adagrad.getNewSquare());
}

} // namespace kedge::autodiff
