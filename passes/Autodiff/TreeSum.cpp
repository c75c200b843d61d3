#include "passes/Autodiff/TreeSum.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::autodiff {

using train::BindingKind;

/// The place of a micro-batch within its run of `size`.
Value TreeSum::isAt(OpBuilder &builder, Location loc, int64_t size, int64_t place) {
  auto number = [&](int64_t value) { return scalarLike(builder, loc, index, static_cast<double>(value)); };
  Value within = onnx::ModOp::create(builder, loc, index, number(size), false);
  return onnx::EqualOp::create(builder, loc, within, number(place));
}

Value TreeSum::endsRun(OpBuilder &builder, Location loc, int64_t size) {
  return isAt(builder, loc, size * rounds, size * rounds - 1);
}

Value TreeSum::endsHalf(OpBuilder &builder, Location loc, int64_t size) {
  return isAt(builder, loc, size * rounds, size / 2 * rounds - 1);
}

Value TreeSum::stateBefore(train::StateOp parameter, train::StateOp accumulator, const std::string &suffix) {
  train::StateOp state = makeStateOf(parameter, train::Role::Accumulator, suffix);
  state.setTypeAttr(accumulator.getTypeAttr());
  return function.argument(BindingKind::State, state.getSymName(), state.getType());
}

/// The sum of a part's micro-batches so far.
Value TreeSum::ofPart(OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator,
                      Value gradient) {
  Location loc = gradient.getLoc();
  Value before = stateBefore(parameter, accumulator, "accumulator.part");
  Value more = onnx::AddOp::create(builder, loc, before, gradient);
  Value sum = onnx::WhereOp::create(builder, loc, isAt(builder, loc, rounds, 0), gradient, more);
  function.addResult(sum, BindingKind::State, (parameter.getSymName() + ".accumulator.part").str());
  return sum;
}

/// `sum` is that of all parts of the level's run so far: it waits when it is that of the first half. Returns
/// the sum of both halves, which only the run's last part needs.
Value TreeSum::keep(OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator, int64_t level,
                    Value sum) {
  Location loc = sum.getLoc();
  const std::string suffix = "accumulator" + std::to_string(level);
  Value before = stateBefore(parameter, accumulator, suffix);
  Value both = onnx::AddOp::create(builder, loc, before, sum);
  Value after = onnx::WhereOp::create(builder, loc, endsHalf(builder, loc, int64_t(2) << level), sum, before);
  function.addResult(after, BindingKind::State, (parameter.getSymName() + "." + suffix).str());
  return both;
}

Value TreeSum::add(OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator, Value gradient,
                   Value total) {
  Location loc = gradient.getLoc();
  Value sum = gradient;
  if (elementOf(sum) != elementOf(total))
    sum = onnx::CastOp::create(builder, loc, sum, TypeAttr::get(elementOf(total)));
  if (rounds > 1)
    sum = ofPart(builder, parameter, accumulator, sum);
  int64_t level = 0;
  for (; (int64_t(2) << level) < parts; ++level)
    sum = keep(builder, parameter, accumulator, level, sum);
  // The total is free until the last part: the first half waits there.
  Value more = onnx::AddOp::create(builder, loc, total, sum);
  Value rest = onnx::WhereOp::create(builder, loc, endsRun(builder, loc, parts), more, total);
  return onnx::WhereOp::create(builder, loc, endsHalf(builder, loc, parts), sum, rest);
}

} // namespace kedge::autodiff
