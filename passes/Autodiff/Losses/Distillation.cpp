// Losses of logits beside a teacher's, which are an input.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/Losses/Losses.h"

namespace kedge::autodiff {
using namespace mlir;

namespace {

/// Log-probabilities over the temperature.
struct Both {
  Value student, teacher;
  int64_t axis;
};

} // namespace

static FailureOr<Both> bothOf(Formula &f, const LossInputs &inputs) {
  Value output = inputs.output();
  if (inputs.classAxis < 0 || inputs.classAxis >= rankOf(output))
    return inputs.refuse() << "--class-axis is out of range for the output " << output.getType();
  Value given = inputs.input("teacher_logits", shapeOf(output), f.b.getF32Type());
  if (!given)
    return failure();
  auto logs = [&](Value logits) {
    return f.logSoftmax(f.mul(logits, 1 / inputs.parameter("temperature")), inputs.classAxis);
  };
  return Both{logs(output), logs(given), inputs.classAxis};
}

/// Of one distribution from another, by their logarithms.
static Value divergence(Formula &f, Value of, Value from, int64_t axis) {
  return f.sum(f.mul(f.exp(of), f.sub(of, from)), {axis});
}

/// A mean over places; in rows of tokens over those of the mask.
static FailureOr<ItemLosses> overPlaces(Formula &f, const LossInputs &inputs, Value losses) {
  ItemLosses items;
  items.losses = losses;
  if (rankOf(losses) != 2)
    return items;
  items.counts = inputs.input(abi::kLossMask, shapeOf(losses), f.b.getF32Type());
  if (!items.counts)
    return failure();
  items.losses = f.mul(losses, items.counts);
  return items;
}

FailureOr<ItemLosses> forwardKl(Formula &f, const LossInputs &inputs) {
  FailureOr<Both> both = bothOf(f, inputs);
  if (failed(both))
    return failure();
  return overPlaces(f, inputs, divergence(f, both->teacher, both->student, both->axis));
}

FailureOr<ItemLosses> reverseKl(Formula &f, const LossInputs &inputs) {
  FailureOr<Both> both = bothOf(f, inputs);
  if (failed(both))
    return failure();
  return overPlaces(f, inputs, divergence(f, both->student, both->teacher, both->axis));
}

/// Of both from their mixture, which has a share `beta` of the teacher.
FailureOr<ItemLosses> jensenShannon(Formula &f, const LossInputs &inputs) {
  FailureOr<Both> both = bothOf(f, inputs);
  if (failed(both))
    return failure();
  const double beta = inputs.parameter("beta");
  Value mixed = f.log(f.add(f.mul(f.exp(both->teacher), beta), f.mul(f.exp(both->student), 1 - beta)));
  Value teacher = f.mul(divergence(f, both->teacher, mixed, both->axis), beta),
        student = f.mul(divergence(f, both->student, mixed, both->axis), 1 - beta);
  return overPlaces(f, inputs, f.add(teacher, student));
}

} // namespace kedge::autodiff
