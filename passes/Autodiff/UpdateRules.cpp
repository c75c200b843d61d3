// Optimizers that are one op per parameter.
#include "lib/Dialect/ONNX/GradientUtils.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "lib/Dialect/Train/Optimizer/OptimizerOps.h"
#include "passes/Autodiff/ParameterUpdate.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
SmallVector<Value> scalars(const ParameterUpdate &u, ArrayRef<StringRef> names) {
  return llvm::map_to_vector(names, [&](StringRef name) { return u.scalar(name); });
}

/// The host's numbers are f32; an update of an f64 parameter computes in f64.
SmallVector<Value> inOneType(const ParameterUpdate &u, SmallVector<Value> operands) {
  for (Value &operand : operands)
    if (elementOf(u.param).isF64() && elementOf(operand).isF32())
      operand = onnx::CastOp::create(u.builder, u.loc, operand, TypeAttr::get(elementOf(u.param)));
  return operands;
}

/// Tensors below this many elements keep moments in f32; bitsandbytes' limit.
constexpr int64_t kSmallest8bit = 4096;
constexpr int64_t kBlock8bit = 256;
} // namespace

void updateAdam(ParameterUpdate &u) {
  const bool decoupled = u.settings.optimizer != "adam";
  Value moment1 = u.makeState(Role::Moment1, "moment1"), moment2 = u.makeState(Role::Moment2, "moment2");
  SmallVector<Value> operands = {u.param,
                                 moment1,
                                 moment2,
                                 u.gradient,
                                 u.scale,
                                 u.scalar(decoupled ? "lr_decay" : "weight_decay"),
                                 u.adamCorrection("step_size")};
  operands.append(scalars(u, {"one_minus_beta1", "beta2", "one_minus_beta2"}));
  operands.push_back(u.adamCorrection("bias_correction2_sqrt"));
  operands.push_back(u.scalar("eps"));
  operands = inOneType(u, operands);
  Operation *op = decoupled
                      ? train::AdamWOp::create(u.builder, u.loc, operands, u.attributes()).getOperation()
                      : train::AdamOp::create(u.builder, u.loc, operands, u.attributes()).getOperation();
  u.finish(op->getResult(0));
  u.keep(moment1, op->getResult(1));
  u.keep(moment2, op->getResult(2));
}

void updateSGD(ParameterUpdate &u) {
  Value decay = u.scalar("weight_decay"), rate = u.scalar("lr");
  SmallVector<NamedAttribute> attributes = u.attributes();
  if (u.settings.momentum == 0) {
    SmallVector<Value> operands = inOneType(u, {u.param, u.gradient, u.scale, decay, rate});
    return u.finish(train::SGDOp::create(u.builder, u.loc, operands, attributes).getNewParam());
  }
  attributes.push_back(u.builder.getNamedAttr("nesterov", u.builder.getBoolAttr(u.settings.nesterov)));
  Value before = u.makeState(Role::Momentum, "momentum");
  SmallVector<Value> operands =
      inOneType(u, {u.param, before, u.gradient, u.scale, decay, rate, u.scalar("momentum")});
  auto sgd = train::MomentumOp::create(u.builder, u.loc, operands, attributes);
  u.finish(sgd.getNewParam());
  u.keep(before, sgd.getNewBuffer());
}

void updateLion(ParameterUpdate &u) {
  Value moment = u.makeState(Role::Moment1, "moment1");
  SmallVector<Value> operands = {u.param, moment, u.gradient, u.scale};
  operands.append(scalars(u, {"lr_decay", "lr", "beta1", "one_minus_beta1", "beta2", "one_minus_beta2"}));
  auto lion = train::LionOp::create(u.builder, u.loc, inOneType(u, operands), u.attributes());
  u.finish(lion.getNewParam());
  u.keep(moment, lion.getNewMoment());
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

/// [blocks, 256] of the flattened tensor, zeros behind its end.
static Value inBlocks(ParameterUpdate &u, Value x, int64_t blocks) {
  const int64_t elements = elementCount(shapeOf(x)), rest = blocks * kBlock8bit - elements;
  auto reshaped = [&](Value from, ArrayRef<int64_t> shape) -> Value {
    return onnx::ReshapeOp::create(u.builder, u.loc, from, u.builder.getDenseI64ArrayAttr(shape));
  };
  if (rest == 0)
    return reshaped(x, {blocks, kBlock8bit});
  Value zeros = splat(u.builder, u.loc, RankedTensorType::get({rest}, elementOf(x)), 0.0);
  Value whole = onnx::ConcatOp::create(u.builder, u.loc, ValueRange{reshaped(x, {elements}), zeros}, 0);
  return reshaped(whole, {blocks, kBlock8bit});
}

static Value fromBlocks(ParameterUpdate &u, Value x, RankedTensorType type) {
  const int64_t elements = type.getNumElements();
  auto numbers = [&](ArrayRef<int64_t> values) { return u.builder.getDenseI64ArrayAttr(values); };
  if (elements != elementCount(shapeOf(x))) {
    x = onnx::ReshapeOp::create(u.builder, u.loc, x, numbers({elementCount(shapeOf(x))}));
    x = onnx::SliceOp::create(u.builder, u.loc, x, numbers({0}), numbers({elements}), numbers({1}));
  }
  return onnx::ReshapeOp::create(u.builder, u.loc, x, numbers(type.getShape()));
}

void updateAdam8bit(ParameterUpdate &u) {
  auto type = cast<RankedTensorType>(u.param.getType());
  if (type.getNumElements() < kSmallest8bit ||
      type.getElementType().isF64()) // who computes in 64 bits wants no 8-bit moments
    return updateAdam(u);
  const int64_t blocks = (type.getNumElements() + kBlock8bit - 1) / kBlock8bit;
  auto codes = RankedTensorType::get({blocks, kBlock8bit}, u.builder.getIntegerType(8, /*isSigned=*/false));
  auto absmax = RankedTensorType::get({blocks}, u.builder.getF32Type());
  const SmallVector<Value> states = {
      u.makeState(Role::Moment1, "moment1", codes), u.makeState(Role::State, "absmax1", absmax),
      u.makeState(Role::Moment2, "moment2", codes), u.makeState(Role::State, "absmax2", absmax)};
  SmallVector<Value> operands = {inBlocks(u, u.param, blocks)};
  operands.append(states);
  operands.append(
      {inBlocks(u, u.gradient, blocks), u.scale, u.scalar("lr_decay"), u.adamCorrection("step_size")});
  operands.append(scalars(u, {"beta1", "one_minus_beta1", "beta2", "one_minus_beta2"}));
  operands.push_back(u.adamCorrection("bias_correction2_sqrt"));
  operands.push_back(u.scalar("eps"));
  auto adam = train::Adam8bitOp::create(u.builder, u.loc, operands, u.attributes());
  u.finish(fromBlocks(u, adam.getNewParam(), type));
  for (auto [before, after] : llvm::zip(states, adam->getResults().drop_front()))
    u.keep(before, after);
}

} // namespace kedge::autodiff
