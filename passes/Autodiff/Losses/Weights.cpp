#include "passes/Autodiff/Losses/Weights.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "passes/Autodiff/FunctionEditing.h"

namespace kedge::autodiff {
using namespace mlir;

static FailureOr<SmallVector<float>> numbersOf(func::FuncOp function, StringRef option, StringRef text) {
  SmallVector<float> numbers;
  SmallVector<StringRef> words;
  text.split(words, '/');
  for (StringRef word : words) {
    double number = 0;
    if (word.getAsDouble(number))
      return function.emitError() << option << " has '" << word << "', expected numbers joined by /";
    numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

/// The sum over classes of weight times -log p, in f32.
static Value lossOfAllClasses(Formula &f, const LossInputs &inputs, ArrayRef<float> table) {
  Value logits = f.toF32(inputs.output());
  SmallVector<float> negative = llvm::map_to_vector(table, [](float weight) { return -weight; });
  SmallVector<int64_t> along(rankOf(logits), 1);
  along[inputs.classAxis] = static_cast<int64_t>(table.size());
  Value weights = f.reshape(f.vector(negative), along);
  return f.sum(f.mul(f.logSoftmax(logits, inputs.classAxis), weights), {inputs.classAxis});
}

LogicalResult weighClasses(Formula &f, const LossInputs &inputs, StringRef numbers, double smoothing,
                           ItemLosses &items) {
  auto table = numbersOf(inputs.function, "--class-weights", numbers);
  if (failed(table))
    return failure();
  const int64_t classes = shapeOf(inputs.output())[inputs.classAxis];
  if (static_cast<int64_t>(table->size()) != classes)
    return inputs.function->emitError()
           << "--class-weights has " << table->size() << " numbers, expected one for each of the " << classes
           << " classes of the logits " << inputs.output().getType();
  Value ignored = f.equal(inputs.labels, inputs.ignoreIndex);
  Value known = f.where(ignored, 0, inputs.labels);
  Value weights = onnx::GatherOp::create(f.b, f.loc, f.vector(*table), known, 0, IntegerAttr());
  items.losses = f.mul(items.losses, weights);
  items.counts = f.mul(items.counts, weights);
  if (smoothing == 0)
    return success();
  Value all = f.where(ignored, 0, lossOfAllClasses(f, inputs, *table));
  Value share = f.filled(shapeOf(items.losses), 1 - smoothing),
        ofEach = f.filled(shapeOf(all), smoothing / static_cast<double>(classes));
  items.losses = f.add(f.mul(items.losses, share), f.mul(all, ofEach));
  return success();
}

/// With a weight p of positive labels, p y softplus(-x) + (1 - y) softplus(x): softplus(-x) is the loss of
/// label 1.
LogicalResult weighPositive(Formula &f, const LossInputs &inputs, StringRef numbers, ItemLosses &items) {
  auto more = numbersOf(inputs.function, "--pos-weight", numbers);
  if (failed(more))
    return failure();
  Value x = inputs.output();
  int64_t last = rankOf(x) == 0 ? 1 : shapeOf(x).back();
  if (more->size() != 1 && static_cast<int64_t>(more->size()) != last)
    return inputs.function->emitError() << "--pos-weight has " << more->size() << " numbers, expected 1, or "
                                        << last << " for the logits " << x.getType();
  for (float &number : *more)
    number -= 1;
  Value ofOne = train::BCEWithLogitsOp::create(f.b, f.loc, x, f.filled(shapeOf(x), 1));
  Value weight = f.mul(inputs.labels, f.vector(*more));
  items.losses = f.add(items.losses, f.mul(weight, ofOne));
  return success();
}

LogicalResult weighRows(Formula &f, const LossInputs &inputs, StringRef name, ItemLosses &items) {
  if (items.rowsPerItem != 1 || items.isOfBatch)
    return inputs.refuse() << "rows that are compared with each other have no weights of their own; leave "
                              "--sample-weights out";
  auto expected = RankedTensorType::get({shapeOf(items.losses)[0]}, f.b.getF32Type());
  Value rows = argumentFor(inputs.function, train::BindingKind::Input, name, expected);
  if (rows.getType() != expected)
    return inputs.function->emitError() << "the input '" << name << "' is " << rows.getType() << ", expected "
                                        << expected << " for --sample-weights";
  SmallVector<int64_t> broadcast(rankOf(items.losses), 1);
  broadcast[0] = expected.getDimSize(0);
  rows = f.reshape(rows, broadcast);
  items.losses = f.mul(items.losses, rows);
  items.counts = f.mul(items.counts ? items.counts : f.filled(shapeOf(items.losses), 1), rows);
  return success();
}

} // namespace kedge::autodiff
