// Losses of numbers beside numbers, element by element.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "passes/Autodiff/Losses/Losses.h"

namespace kedge::autodiff {
using namespace mlir;

static ItemLosses each(Value losses) {
  ItemLosses items;
  items.losses = losses;
  return items;
}

FailureOr<ItemLosses> squaredError(Formula &f, const LossInputs &inputs) {
  return each(f.square(f.sub(inputs.output(), inputs.labels)));
}

FailureOr<ItemLosses> huber(Formula &f, const LossInputs &inputs) {
  const double delta = inputs.parameter("delta");
  Value d = f.sub(inputs.output(), inputs.labels), size = f.abs(d);
  Value far = f.mul(f.add(size, -delta / 2), delta);
  return each(f.where(f.lessOrEqual(size, delta), f.mul(f.square(d), 0.5), far));
}

FailureOr<ItemLosses> smoothL1(Formula &f, const LossInputs &inputs) {
  const double beta = inputs.parameter("beta");
  Value d = f.sub(inputs.output(), inputs.labels), size = f.abs(d);
  if (beta == 0)
    return each(size);
  return each(f.where(f.lessOrEqual(size, beta), f.mul(f.square(d), 0.5 / beta), f.add(size, -beta / 2)));
}

/// q d where the label is larger by d, (q - 1) d where it is smaller.
FailureOr<ItemLosses> quantile(Formula &f, const LossInputs &inputs) {
  const double q = inputs.parameter("q");
  Value d = f.sub(inputs.labels, inputs.output());
  return each(f.where(f.greater(d, 0), f.mul(d, q), f.mul(d, q - 1)));
}

FailureOr<ItemLosses> binary(Formula &f, const LossInputs &inputs) {
  return each(train::BCEWithLogitsOp::create(f.b, f.loc, inputs.output(), inputs.labels));
}

/// torchvision's sigmoid_focal_loss.
FailureOr<ItemLosses> focal(Formula &f, const LossInputs &inputs) {
  const double alpha = inputs.parameter("alpha"), gamma = inputs.parameter("gamma");
  Value x = inputs.output(), y = inputs.labels, p = f.sigmoid(x);
  Value losses = train::BCEWithLogitsOp::create(f.b, f.loc, x, y);
  // 1 - p of the label: p + y - 2 p y.
  Value wrong = f.sub(f.add(p, y), f.mul(f.mul(p, y), 2));
  if (gamma != 0)
    losses = f.mul(losses, f.pow(wrong, gamma));
  if (alpha >= 0)
    losses = f.mul(losses, f.add(f.mul(y, 2 * alpha - 1), 1 - alpha));
  return each(losses);
}

/// MONAI's DiceLoss(sigmoid=True): of each row and channel, over the places between.
FailureOr<ItemLosses> dice(Formula &f, const LossInputs &inputs) {
  const double smooth = inputs.parameter("smooth");
  SmallVector<int64_t> places;
  for (int64_t dim = 1; dim < rankOf(inputs.output()); ++dim)
    if (dim != inputs.classAxis)
      places.push_back(dim);
  if (places.empty())
    return inputs.refuse() << "the output is " << inputs.output().getType()
                           << ", expected rows and channels with places in them, as in [8, 3, 64, 64]";
  Value p = f.sigmoid(inputs.output()), y = inputs.labels;
  Value shared = f.sum(f.mul(p, y), places), all = f.add(f.sum(p, places), f.sum(y, places));
  Value quotient = f.div(f.add(f.mul(shared, 2), smooth), f.add(all, smooth));
  return each(f.add(f.neg(quotient), 1));
}

} // namespace kedge::autodiff
