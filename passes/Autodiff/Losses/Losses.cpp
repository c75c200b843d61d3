#include "passes/Autodiff/Losses/Losses.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/FunctionEditing.h"

namespace kedge::autodiff {
using namespace mlir;

Value LossInputs::input(StringRef name, ArrayRef<int64_t> shape, Type element) const {
  auto expected = RankedTensorType::get(shape, element);
  Value found = argumentFor(function, train::BindingKind::Input, name, expected);
  if (found.getType() == expected)
    return found;
  refuse() << "the input '" << name << "' is " << found.getType() << ", expected " << expected;
  return {};
}

void LossInputs::bound(StringRef name, int64_t highest, int64_t allowed) const {
  Builder builder(function->getContext());
  train::BoundsNote note(function->getContext());
  NamedAttrList bounds(note.getAttr(function));
  bounds.set(name, builder.getDictionaryAttr(
                       {builder.getNamedAttr("lo", builder.getI64IntegerAttr(0)),
                        builder.getNamedAttr("hi", builder.getI64IntegerAttr(highest)),
                        builder.getNamedAttr("allowed", builder.getDenseI64ArrayAttr({allowed}))}));
  note.setAttr(function, bounds.getDictionary(function->getContext()));
}

InFlightDiagnostic LossInputs::refuse() const {
  return mlir::emitError(function->getLoc()) << "--loss " << term.text() << ": ";
}

FailureOr<ItemLosses> buildLoss(Formula &f, const LossInputs &inputs) {
  switch (inputs.term.function) {
  case LossFunction::None:
    return failure();
  case LossFunction::CrossEntropy:
    return crossEntropy(f, inputs);
  case LossFunction::Mse:
    return squaredError(f, inputs);
  case LossFunction::BceWithLogits:
    return binary(f, inputs);
  case LossFunction::Focal:
    return focal(f, inputs);
  case LossFunction::Dice:
    return dice(f, inputs);
  case LossFunction::Huber:
    return huber(f, inputs);
  case LossFunction::SmoothL1:
    return smoothL1(f, inputs);
  case LossFunction::Quantile:
    return quantile(f, inputs);
  case LossFunction::Poly:
    return poly(f, inputs);
  case LossFunction::Contrastive:
    return contrastive(f, inputs);
  case LossFunction::Triplet:
    return triplet(f, inputs);
  case LossFunction::Ctc:
    return ctc(f, inputs);
  case LossFunction::Dpo:
    return dpo(f, inputs);
  case LossFunction::Ipo:
    return ipo(f, inputs);
  case LossFunction::Orpo:
    return orpo(f, inputs);
  case LossFunction::Simpo:
    return simpo(f, inputs);
  case LossFunction::Kto:
    return kto(f, inputs);
  case LossFunction::Reward:
    return reward(f, inputs);
  case LossFunction::Grpo:
    return grpo(f, inputs);
  case LossFunction::PpoClip:
  case LossFunction::Dapo:
    return clippedPolicy(f, inputs);
  case LossFunction::Kl:
    return forwardKl(f, inputs);
  case LossFunction::ReverseKl:
    return reverseKl(f, inputs);
  case LossFunction::Js:
    return jensenShannon(f, inputs);
  }
  return failure();
}

} // namespace kedge::autodiff
