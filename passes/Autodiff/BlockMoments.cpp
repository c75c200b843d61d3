// Moments in 8 or 4 bits, block by block of the flattened parameter.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "passes/Autodiff/ParameterUpdate.h"

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {
/// Tensors below this many elements keep moments in f32; bitsandbytes' limit.
constexpr int64_t kSmallest8bit = 4096;
constexpr int64_t kBlock8bit = 256;

/// Who computes in 64 bits wants no 8-bit moments.
bool takes8bits(RankedTensorType type) {
  return type.getNumElements() >= kSmallest8bit && !type.getElementType().isF64();
}

/// The flattened parameter as [blocks, elements of one], zeros behind its end.
class Blocks {
public:
  Blocks(ParameterUpdate &u, int64_t size)
      : u(u), size(size), type(cast<RankedTensorType>(u.param.getType())),
        count(llvm::divideCeil(type.getNumElements(), size)) {}

  RankedTensorType of(Type element) const { return RankedTensorType::get({count, size}, element); }
  RankedTensorType oneEach(Type element) const { return RankedTensorType::get({count}, element); }

  Value in(Value x) {
    const int64_t elements = elementCount(shapeOf(x)), rest = count * size - elements;
    if (rest == 0)
      return reshaped(x, {count, size});
    Value zeros = splat(u.builder, u.loc, RankedTensorType::get({rest}, elementOf(x)), 0.0);
    Value whole = onnx::ConcatOp::create(u.builder, u.loc, ValueRange{reshaped(x, {elements}), zeros}, 0);
    return reshaped(whole, {count, size});
  }

  /// The parameter's new value, from its blocks.
  Value out(Value x) {
    const int64_t elements = type.getNumElements();
    if (elements != elementCount(shapeOf(x))) {
      x = reshaped(x, {elementCount(shapeOf(x))});
      x = onnx::SliceOp::create(u.builder, u.loc, x, numbers({0}), numbers({elements}), numbers({1}));
    }
    return reshaped(x, type.getShape());
  }

private:
  DenseI64ArrayAttr numbers(ArrayRef<int64_t> values) { return u.builder.getDenseI64ArrayAttr(values); }
  Value reshaped(Value from, ArrayRef<int64_t> shape) {
    return onnx::ReshapeOp::create(u.builder, u.loc, from, numbers(shape));
  }

  ParameterUpdate &u;
  const int64_t size;
  const RankedTensorType type;
  const int64_t count;
};
} // namespace

SmallVector<Value> scalars(const ParameterUpdate &u, ArrayRef<StringRef> names) {
  return llvm::map_to_vector(names, [&](StringRef name) { return u.scalar(name); });
}

void updateAdam8bit(ParameterUpdate &u) {
  if (!takes8bits(cast<RankedTensorType>(u.param.getType())))
    return updateAdam(u);
  Blocks blocks(u, kBlock8bit);
  const auto codes = blocks.of(u.builder.getIntegerType(8, /*isSigned=*/false));
  const auto absmax = blocks.oneEach(u.builder.getF32Type());
  const SmallVector<Value> states = {
      u.makeState(Role::Moment1, "moment1", codes), u.makeState(Role::State, "absmax1", absmax),
      u.makeState(Role::Moment2, "moment2", codes), u.makeState(Role::State, "absmax2", absmax)};
  SmallVector<Value> operands = {blocks.in(u.param)};
  operands.append(states);
  operands.append({blocks.in(u.gradient), u.scale, u.scalar("lr_decay"), u.adamCorrection("step_size")});
  operands.append(scalars(u, {"beta1", "one_minus_beta1", "beta2", "one_minus_beta2"}));
  operands.push_back(u.adamCorrection("bias_correction2_sqrt"));
  operands.push_back(u.scalar("eps"));
  auto adam = train::Adam8bitOp::create(u.builder, u.loc, operands, u.attributes());
  u.finish(blocks.out(adam.getNewParam()));
  for (auto [before, after] : llvm::zip(states, adam->getResults().drop_front()))
    u.keep(before, after);
}

bool isCompanded(const ParameterUpdate &u) {
  return u.settings.moments == Moments::Int8 && takes8bits(cast<RankedTensorType>(u.param.getType()));
}

bool isOf4bits(const ParameterUpdate &u) {
  auto type = cast<RankedTensorType>(u.param.getType());
  return u.settings.moments == Moments::Int4 && takes8bits(type) &&
         type.getNumElements() % train::kBlock4bit == 0;
}

/// The codes come out of the update one a byte, since a byte's two halves are of elements far apart.
void updateAdam4bit(ParameterUpdate &u, bool decoupled, ArrayRef<Value> numbers) {
  auto type = cast<RankedTensorType>(u.param.getType());
  const int64_t half = train::kBlock4bit / 2, blocks = type.getNumElements() / train::kBlock4bit;
  const auto codes = RankedTensorType::get({blocks, half}, u.builder.getIntegerType(8, /*isSigned=*/false));
  const auto absmax = RankedTensorType::get({blocks}, u.builder.getF32Type());
  auto inBlocks = [&](Value x) -> Value {
    return onnx::ReshapeOp::create(u.builder, u.loc, x, u.builder.getDenseI64ArrayAttr({blocks, 2, half}));
  };
  const SmallVector<Value> states = {
      u.makeState(Role::Moment1, "moment1", codes), u.makeState(Role::State, "absmax1", absmax),
      u.makeState(Role::Moment2, "moment2", codes), u.makeState(Role::State, "absmax2", absmax)};
  SmallVector<Value> operands = {inBlocks(u.param)};
  operands.append(states);
  operands.push_back(inBlocks(u.gradient));
  llvm::append_range(operands, numbers);
  SmallVector<NamedAttribute> attributes = u.attributes();
  attributes.push_back(u.builder.getNamedAttr("decoupled", u.builder.getBoolAttr(decoupled)));
  auto adam = train::Adam4bitOp::create(u.builder, u.loc, operands, attributes);
  u.finish(onnx::ReshapeOp::create(u.builder, u.loc, adam.getNewParam(),
                                   u.builder.getDenseI64ArrayAttr(type.getShape())));
  for (auto [before, after] : llvm::zip(states, adam->getResults().drop_front()))
    u.keep(before, after.getType() == before.getType()
                       ? Value(after)
                       : train::PackNibblesOp::create(u.builder, u.loc, after, after).getResult());
}

void updateCompanded(ParameterUpdate &u, train::CompandedRule rule,
                     ArrayRef<std::pair<Role, StringRef>> moments, ArrayRef<Value> numbers) {
  Blocks groups(u, train::kCompandedGroup);
  SmallVector<Value> states;
  for (auto [role, suffix] : moments) {
    Type code =
        role == Role::Moment2 ? u.builder.getIntegerType(8, /*isSigned=*/false) : u.builder.getIntegerType(8);
    states.push_back(u.makeState(role, suffix, groups.of(code)));
    states.push_back(
        u.makeState(Role::State, (suffix + ".scale").str(), groups.oneEach(u.builder.getF16Type())));
  }
  auto update =
      train::CompandedOp::create(u.builder, u.loc, groups.in(u.param), groups.in(u.gradient), states, numbers,
                                 rule, u.settings.nesterov, u.state.getDecay(), u.state.getLrScale());
  u.finish(groups.out(update.getNewParam()));
  for (auto [before, after] : llvm::zip_equal(states, update.getNewStates()))
    u.keep(before, after);
}

} // namespace kedge::autodiff
