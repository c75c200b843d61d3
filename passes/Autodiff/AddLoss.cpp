#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_ADDLOSS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

struct AddLoss : impl::AddLossBase<AddLoss> {
  using Base::Base;
  int64_t results = 0;

  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model || function.isExternal())
      return;
    PlacedBuilder builder(returnOf(function),
                          PlaceAttr::get(&getContext(), TrainingPhase::Forward, "", "loss"));
    bool done =
        kind == LossFunction::None ? takeLossOutput(function, builder) : appendLoss(function, builder);
    if (!done)
      return signalPassFailure();
    addStatistic("results added", results);
  }

  void setResult(func::FuncOp function, StringRef name, Value value) {
    ++results;
    addResult(function, value, BindingKind::Result, name);
  }

  /// Of a step, over all ranks.
  int64_t microBatches(func::FuncOp function) { return accumulate * dist::rowGroup(function).ranks; }

  void setGradient(func::FuncOp function, double items) {
    train::LossGradientNote(function->getContext())
        .setAttr(function, FloatAttr::get(Float64Type::get(&getContext()), 1.0 / items));
  }

  bool takeLossOutput(func::FuncOp function, OpBuilder &builder) {
    Value loss = findResult(function, BindingKind::Output, lossOutput);
    if (!loss)
      loss = findResult(function, BindingKind::AlgorithmOutput, lossOutput);
    if (!loss || elementCount(shapeOf(loss)) != 1 || !isa<FloatType>(elementOf(loss))) {
      function.emitError() << "the model has no float output '" << lossOutput.getValue()
                           << "' of one element to take as the loss; its outputs are "
                           << outputNames(function) << " (--loss-output NAME, or --loss KIND to compute one)";
      return false;
    }
    if (rankOf(loss) != 0)
      loss = onnx::ReshapeOp::create(builder, loss.getLoc(), loss, ArrayRef<int64_t>{});
    setResult(function, "loss_sum", loss);
    if (train::isOfTrainingInfo(function))
      eraseResults(function, BindingKind::AlgorithmOutput);
    else
      setGradient(function, static_cast<double>(microBatches(function)));
    return true;
  }

  bool appendLoss(func::FuncOp function, OpBuilder &builder) {
    Value prediction = findLogits(function);
    if (!prediction)
      return false;
    Location loc = NameLoc::get(StringAttr::get(&getContext(), "loss"));
    if (!isa<FloatType>(elementOf(prediction))) {
      function.emitError() << "the logits are " << prediction.getType()
                           << ", expected floats: name another output (--logits NAME)";
      return false;
    }
    bool classes = kind == LossFunction::CrossEntropy;
    // It reads 16-bit logits as they are and computes in f32: no wider copy of them is needed.
    if (classes)
      prediction = withoutWidening(prediction);
    RankedTensorType type = labelsType(tensorType(prediction), classes);
    if (!type) {
      function.emitError() << "--class-axis " << classAxis.getValue() << " is out of range for logits "
                           << prediction.getType();
      return false;
    }
    Value target = argumentFor(function, BindingKind::Input, labels, type);
    if (!checkLabels(function, target, type, classes))
      return false;
    // Labels are f32, and so is the loss: of float64 logits, too.
    if (elementOf(prediction).isF64() || (!classes && !elementOf(prediction).isF32()))
      prediction = onnx::CastOp::create(builder, loc, prediction, TypeAttr::get(builder.getF32Type()));
    Value losses = lossOfItems(builder, loc, prediction, target);
    if (!losses)
      return false;
    Value valid = classes ? validItems(builder, loc, target, losses) : Value();
    if (!classWeights.empty() && failed(weighClasses(builder, loc, prediction, target, losses, valid)))
      return false;
    if (!sampleWeights.empty() && failed(weighRows(function, builder, loc, losses, valid)))
      return false;
    setSums(function, builder, loc, losses, valid);
    double items =
        static_cast<double>(elementCount(shapeOf(losses))) * static_cast<double>(microBatches(function));
    train::NominalItemsNote(function->getContext()).setAttr(function, builder.getF64FloatAttr(items));
    setGradient(function, items);
    return true;
  }

  std::string outputNames(func::FuncOp function) {
    std::string names;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto result = train::bindingOfResult(function, i);
          result && (result.is(BindingKind::Output) || result.is(BindingKind::AlgorithmOutput)))
        names += (names.empty() ? "'" : ", '") + result.getName().str() + "'";
    return names;
  }

  /// "'logits' [2x8x256], 'hidden' [2x8x64]", and which of them a loss reads most likely.
  std::string choicesOf(func::FuncOp function, ArrayRef<unsigned> results) {
    std::string listed;
    StringRef likely;
    for (unsigned index : results) {
      const StringRef name = train::bindingOfResult(function, index, BindingKind::Output).getName();
      const auto type = cast<RankedTensorType>(function.getResultTypes()[index]);
      std::string sizes;
      for (int64_t size : type.getShape())
        sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
      listed += (listed.empty() ? "'" : ", '") + name.str() + "' [" + sizes + "]";
      if (likely.empty() || (name.contains("logits") && !likely.contains("logits")))
        likely = name;
    }
    return listed + "): name the one that the loss reads, most likely --logits " + likely.str();
  }

  Value findLogits(func::FuncOp function) {
    if (!logits.empty()) {
      Value found = findResult(function, BindingKind::Output, logits);
      if (!found)
        function.emitError() << "the model has no output '" << logits.getValue()
                             << "' (--logits); its outputs are " << outputNames(function);
      return found;
    }
    SmallVector<unsigned> floats;
    for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
      if (isa<FloatType>(elementOf(value)) && train::bindingOfResult(function, index, BindingKind::Output))
        floats.push_back(static_cast<unsigned>(index));
    if (floats.size() == 1)
      return returnOf(function)->getOperand(floats[0]);
    if (floats.empty())
      function.emitError() << "the model has no float output; its outputs are " << outputNames(function);
    else
      function.emitError() << "the model has " << floats.size() << " float outputs ("
                           << choicesOf(function, floats);
    return {};
  }

  int64_t axisOf(RankedTensorType type) {
    if (classAxis == -100)
      return type.getRank() <= 3 ? type.getRank() - 1 : 1;
    return classAxis < 0 ? classAxis + type.getRank() : classAxis;
  }

  RankedTensorType labelsType(RankedTensorType type, bool classes) {
    SmallVector<int64_t> shape(type.getShape());
    if (!classes)
      return RankedTensorType::get(shape, Float32Type::get(&getContext()));
    int64_t axis = axisOf(type);
    if (axis < 0 || axis >= type.getRank())
      return {};
    shape.erase(shape.begin() + axis);
    return RankedTensorType::get(shape, IntegerType::get(&getContext(), 64));
  }

  bool checkLabels(func::FuncOp function, Value target, RankedTensorType expected, bool classes) {
    auto found = tensorType(target);
    bool typeFits = classes ? isa<IntegerType>(found.getElementType()) && !found.getElementType().isInteger(1)
                            : found.getElementType() == expected.getElementType();
    if (typeFits && found.getShape() == expected.getShape())
      return true;
    function.emitError() << "the labels input '" << labels.getValue() << "' is " << found << ", expected "
                         << expected << " for --loss " << wordOf(kind.getValue());
    return false;
  }

  Value lossOfItems(OpBuilder &builder, Location loc, Value prediction, Value target) {
    if (kind == LossFunction::CrossEntropy)
      return train::CrossEntropyOp::create(
                 builder, loc, prediction, target, axisOf(tensorType(prediction)), ignoreIndex,
                 APFloat(classWeights.empty() ? labelSmoothing.getValue().value : 0.0))
          .getLosses();
    if (kind == LossFunction::BceWithLogits)
      return binaryLoss(builder, loc, prediction, target);
    Value difference = onnx::SubOp::create(builder, loc, prediction, target);
    return onnx::MulOp::create(builder, loc, difference, difference);
  }

  /// With a weight p of positive labels, p y softplus(-x) + (1 - y) softplus(x): softplus(-x) is the loss of
  /// label 1.
  Value binaryLoss(OpBuilder &builder, Location loc, Value x, Value target) {
    Value losses = train::BCEWithLogitsOp::create(builder, loc, x, target);
    if (posWeight.empty())
      return losses;
    auto more = numbersOf("--pos-weight", posWeight);
    if (failed(more))
      return {};
    int64_t last = rankOf(x) == 0 ? 1 : shapeOf(x).back();
    if (more->size() != 1 && static_cast<int64_t>(more->size()) != last) {
      getOperation().emitError() << "--pos-weight has " << more->size() << " numbers, expected 1, or " << last
                                 << " for the logits " << x.getType();
      return {};
    }
    for (float &number : *more)
      number -= 1;
    Value ofOne = train::BCEWithLogitsOp::create(builder, loc, x, filledLike(builder, loc, x, 1));
    Value weight = onnx::MulOp::create(builder, loc, target, vectorOf(builder, loc, *more));
    return onnx::AddOp::create(builder, loc, losses, onnx::MulOp::create(builder, loc, weight, ofOne));
  }

  FailureOr<SmallVector<float>> numbersOf(StringRef option, StringRef text) {
    SmallVector<float> numbers;
    SmallVector<StringRef> words;
    text.split(words, '/');
    for (StringRef word : words) {
      double number = 0;
      if (word.getAsDouble(number))
        return getOperation().emitError() << option << " has '" << word << "', expected numbers joined by /";
      numbers.push_back(static_cast<float>(number));
    }
    return numbers;
  }

  static Value vectorOf(OpBuilder &builder, Location loc, ArrayRef<float> numbers) {
    auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getF32Type());
    return onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, numbers));
  }

  static Value filledLike(OpBuilder &builder, Location loc, Value like, float value) {
    return onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(tensorType(like), value));
  }

  /// Each item counts as its class does. With smoothing, PyTorch's (1 - s) w[y] nll + s / C sum over c of
  /// w[c] (-log p[c]).
  LogicalResult weighClasses(OpBuilder &builder, Location loc, Value prediction, Value target, Value &losses,
                             Value &valid) {
    auto table = numbersOf("--class-weights", classWeights);
    if (failed(table))
      return failure();
    const int64_t classes = shapeOf(prediction)[axisOf(tensorType(prediction))];
    if (static_cast<int64_t>(table->size()) != classes)
      return getOperation().emitError()
             << "--class-weights has " << table->size() << " numbers, expected one for each of the "
             << classes << " classes of the logits " << prediction.getType();
    Value ignored =
        onnx::EqualOp::create(builder, loc, target, scalarLike(builder, loc, target, ignoreIndex));
    Value known = onnx::WhereOp::create(builder, loc, ignored, scalarLike(builder, loc, target, 0), target);
    Value weights =
        onnx::GatherOp::create(builder, loc, vectorOf(builder, loc, *table), known, 0, IntegerAttr());
    losses = onnx::MulOp::create(builder, loc, losses, weights);
    valid = onnx::MulOp::create(builder, loc, valid, weights);
    if (labelSmoothing == 0)
      return success();
    const double share = labelSmoothing, ofEach = share / static_cast<double>(classes);
    Value all = lossOfAllClasses(builder, loc, prediction, *table);
    all = onnx::WhereOp::create(builder, loc, ignored, scalarLike(builder, loc, all, 0), all);
    losses = onnx::AddOp::create(
        builder, loc, onnx::MulOp::create(builder, loc, losses, filledLike(builder, loc, losses, 1 - share)),
        onnx::MulOp::create(builder, loc, all, filledLike(builder, loc, all, ofEach)));
    return success();
  }

  /// The sum over classes of weight times -log p, in f32.
  Value lossOfAllClasses(OpBuilder &builder, Location loc, Value prediction, ArrayRef<float> table) {
    if (!elementOf(prediction).isF32())
      prediction = onnx::CastOp::create(builder, loc, prediction, TypeAttr::get(builder.getF32Type()));
    const int64_t axis = axisOf(tensorType(prediction));
    SmallVector<float> negative = llvm::map_to_vector(table, [](float weight) { return -weight; });
    SmallVector<int64_t> along(rankOf(prediction), 1);
    along[axis] = static_cast<int64_t>(table.size());
    Value weights = onnx::ReshapeOp::create(builder, loc, vectorOf(builder, loc, negative), along);
    Value logs = onnx::LogSoftmaxOp::create(builder, loc, prediction, axis);
    return onnx::ReduceSumOp::create(builder, loc, onnx::MulOp::create(builder, loc, logs, weights),
                                     ArrayRef(axis), false);
  }

  LogicalResult weighRows(func::FuncOp function, OpBuilder &builder, Location loc, Value &losses,
                          Value &valid) {
    FailureOr<Value> rows = rowWeights(function, builder, loc, losses);
    if (failed(rows))
      return failure();
    losses = onnx::MulOp::create(builder, loc, losses, *rows);
    valid = onnx::MulOp::create(builder, loc, valid ? valid : filledLike(builder, loc, losses, 1), *rows);
    return success();
  }

  FailureOr<Value> rowWeights(func::FuncOp function, OpBuilder &builder, Location loc, Value losses) {
    auto expected = RankedTensorType::get({shapeOf(losses)[0]}, builder.getF32Type());
    Value rows = argumentFor(function, BindingKind::Input, sampleWeights, expected);
    if (rows.getType() != expected)
      return function.emitError() << "the input '" << sampleWeights.getValue() << "' is " << rows.getType()
                                  << ", expected " << expected << " for --sample-weights";
    SmallVector<int64_t> broadcast(rankOf(losses), 1);
    broadcast[0] = expected.getDimSize(0);
    return onnx::ReshapeOp::create(builder, loc, rows, broadcast).getResult();
  }

  /// 1 for items that count, 0 for ignored ones, in the losses' type.
  Value validItems(OpBuilder &builder, Location loc, Value target, Value losses) {
    Value ignored = scalarLike(builder, loc, target, ignoreIndex);
    Value valid = onnx::NotOp::create(builder, loc, onnx::EqualOp::create(builder, loc, target, ignored));
    return onnx::CastOp::create(builder, loc, valid, TypeAttr::get(elementOf(losses)));
  }

  void setSums(func::FuncOp function, OpBuilder &builder, Location loc, Value losses, Value valid) {
    SmallVector<int64_t> inner, all;
    for (int64_t dim = 0; dim < rankOf(losses); ++dim) {
      all.push_back(dim);
      if (dim > 0)
        inner.push_back(dim);
    }
    auto sum = [&](Value x, ArrayRef<int64_t> axes) -> Value {
      return axes.empty() ? x : onnx::ReduceSumOp::create(builder, loc, x, axes, false).getResult();
    };
    setResult(function, "loss_sum", sum(losses, all));
    if (valid)
      setResult(function, "items", sum(valid, all));
    setResult(function, "loss_rows", sum(losses, inner));
    if (valid)
      setResult(function, "item_rows", sum(valid, inner));
  }
};
} // namespace
} // namespace kedge::autodiff
