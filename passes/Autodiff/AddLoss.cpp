#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/abi/LossNames.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Losses/Weights.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_ADDLOSS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

/// Of a term, in a micro-batch.
struct TermSums {
  ItemLosses items;
  double weight = 1;
  std::string name; ///< in the log; empty: no term of its own

  double nominal() const { return static_cast<double>(elementCount(shapeOf(items.losses))); }
};

struct AddLoss : impl::AddLossBase<AddLoss> {
  using Base::Base;
  int64_t results = 0;

  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model || function.isExternal())
      return;
    PlacedBuilder builder(returnOf(function),
                          PlaceAttr::get(&getContext(), TrainingPhase::Forward, "", "loss"));
    const bool isInGraph = spec() == LossFunction::None;
    if (const size_t terms = lossOutput.getValue().all.size() + (isInGraph ? 0 : spec().terms.size());
        terms > abi::kMostLosses) {
      function.emitError() << "a loss of " << terms << " terms: more than " << abi::kMostLosses
                           << " are not available yet";
      return signalPassFailure();
    }
    if (isInGraph ? !takeLossOutput(function, builder) : failed(appendLosses(function, builder)))
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

  /// An output that is minimized as it is, as a scalar; null after an error.
  Value scalarOutput(func::FuncOp function, OpBuilder &builder, StringRef name) {
    Value loss = findResult(function, BindingKind::Output, name);
    if (!loss)
      loss = findResult(function, BindingKind::AlgorithmOutput, name);
    if (!loss || elementCount(shapeOf(loss)) != 1 || !isa<FloatType>(elementOf(loss))) {
      function.emitError() << "the model has no float output '" << name
                           << "' of one element to take as the loss; its outputs are "
                           << outputNames(function) << " (--loss-output NAME, or --loss KIND to compute one)";
      return {};
    }
    return rankOf(loss) == 0
               ? loss
               : onnx::ReshapeOp::create(builder, loss.getLoc(), loss, ArrayRef<int64_t>{}).getResult();
  }

  /// `total`, which may be null, with what the weighted outputs of --loss-output add; null after an error.
  Value addOutputs(Formula &f, func::FuncOp function, Value total, bool isNamed) {
    for (const LossOutput &output : lossOutput.getValue().all) {
      Value loss = scalarOutput(function, f.b, output.name);
      if (!loss)
        return {};
      if (isNamed)
        setTerm(function, output.name, loss);
      Value scaled = output.weight == 1 ? loss : f.mul(loss, output.weight);
      total = total ? f.add(total, scaled) : scaled;
    }
    return total;
  }

  /// For the log.
  void setTerm(func::FuncOp function, StringRef name, Value mean) {
    setResult(function, (Twine(StringRef(abi::kLossPrefix)) + name).str(), mean);
  }

  bool takeLossOutput(func::FuncOp function, OpBuilder &builder) {
    Formula f{builder, NameLoc::get(StringAttr::get(&getContext(), "loss"))};
    const size_t count = lossOutput.getValue().all.size();
    if (count == 0) {
      scalarOutput(function, builder, "");
      return false;
    }
    Value loss = addOutputs(f, function, {}, /*isNamed=*/count > 1);
    if (!loss)
      return false;
    setResult(function, "loss_sum", loss);
    if (train::isOfTrainingInfo(function))
      eraseResults(function, BindingKind::AlgorithmOutput);
    else
      setGradient(function, static_cast<double>(microBatches(function)));
    return true;
  }

  const LossSpec &spec() const { return kind.getValue(); }

  LogicalResult appendLosses(func::FuncOp function, OpBuilder &builder) {
    Formula f{builder, NameLoc::get(StringAttr::get(&getContext(), "loss"))};
    SmallVector<TermSums> terms;
    for (const LossTerm &term : spec().terms) {
      FailureOr<ItemLosses> items = appendTerm(f, function, term);
      if (failed(items))
        return failure();
      terms.push_back({*items, term.weight, nameOf(term)});
      for (const ItemLosses &more : items->beside)
        terms.push_back({more, term.weight, ""});
    }
    eraseResults(function, [&](unsigned index) { return isReference(function, index); });
    if (terms.size() == 1 && lossOutput.getValue().empty())
      return setSums(f, function, terms.front());
    return setWeightedMean(f, function, terms);
  }

  /// Without its weight: "mask=dice".
  static std::string nameOf(LossTerm term) {
    term.weight = 1;
    return term.text();
  }

  FailureOr<ItemLosses> appendTerm(Formula &f, func::FuncOp function, const LossTerm &term) {
    LossInputs inputs{function, term, {}, {}, labels, 0, ignoreIndex, 0, spec().beta().has_value(), {}};
    if (spec().namesOutputs())
      inputs.labelsName += "_" + (term.outputs.empty() ? std::string("logits") : term.outputs.front());
    if (failed(findOutputs(f, function, term, inputs)) || failed(findLabels(function, inputs)))
      return failure();
    const bool weighs = !classWeights.empty() && weighsClasses(term.function);
    const double smoothing = labelSmoothing.getValue().value;
    inputs.smoothing = weighs && term.function == LossFunction::CrossEntropy ? 0 : smoothing;
    FailureOr<ItemLosses> items = buildLoss(f, inputs);
    if (failed(items) || (weighs && failed(weighClasses(f, inputs, classWeights, smoothing, *items))) ||
        (!posWeight.empty() && term.function == LossFunction::BceWithLogits &&
         failed(weighPositive(f, inputs, posWeight, *items))) ||
        (!sampleWeights.empty() && failed(weighRows(f, inputs, sampleWeights, *items))))
      return failure();
    return items;
  }

  LogicalResult findOutputs(Formula &f, func::FuncOp function, const LossTerm &term, LossInputs &inputs) {
    for (const std::string &name : term.outputs)
      inputs.outputs.push_back(namedOutput(function, name, "(--loss)"));
    if (term.outputs.empty())
      inputs.outputs.push_back(findLogits(function));
    for (Value &output : inputs.outputs) {
      if (!output)
        return failure();
      if (!isa<FloatType>(elementOf(output)))
        return function.emitError() << "the logits are " << output.getType()
                                    << ", expected floats: name another output (--logits NAME)";
      // It reads 16-bit logits as they are and computes in f32: no wider copy of them is needed.
      if (labelsOf(term.function) == LossLabels::Classes)
        output = withoutWidening(output);
      // Labels are f32, and so is the loss: of float64 logits, too.
      if (elementOf(output).isF64() || labelsOf(term.function) != LossLabels::Classes)
        output = f.toF32(output);
    }
    inputs.classAxis = axisOf(tensorType(inputs.output()));
    if (term.parameter("stored") == 0)
      findReference(f, function, inputs);
    return success();
  }

  /// What kedge-add-reference made of the first output.
  static void findReference(Formula &f, func::FuncOp function, LossInputs &inputs) {
    for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
      if (isReference(function, index)) {
        inputs.reference = withoutWidening(value);
        if (elementOf(inputs.reference).isF64())
          inputs.reference = f.toF32(inputs.reference);
      }
  }

  static bool isReference(func::FuncOp function, unsigned index) {
    auto result = train::bindingOfResult(function, index);
    return result && result.is(BindingKind::Result, "reference");
  }

  LogicalResult findLabels(func::FuncOp function, LossInputs &inputs) {
    const LossLabels what = labelsOf(inputs.term.function);
    if (what == LossLabels::None)
      return success();
    if (what == LossLabels::Own) { // where the graph has them
      inputs.labels = existingInput(function, inputs.labelsName);
      return success();
    }
    const bool classes = what == LossLabels::Classes;
    RankedTensorType type = labelsType(tensorType(inputs.output()), classes);
    if (!type)
      return function.emitError() << "--class-axis " << classAxis.getValue() << " is out of range for logits "
                                  << inputs.output().getType();
    inputs.labels = argumentFor(function, BindingKind::Input, inputs.labelsName, type);
    return checkLabels(function, inputs, type, classes);
  }

  static Value existingInput(func::FuncOp function, StringRef name) {
    for (BlockArgument argument : function.getArguments())
      if (auto input = train::bindingOfArgument(function, argument.getArgNumber());
          input && input.is(BindingKind::Input, name))
        return argument;
    return {};
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

  Value namedOutput(func::FuncOp function, StringRef name, StringRef option) {
    Value found = findResult(function, BindingKind::Output, name);
    if (!found)
      function.emitError() << "the model has no output '" << name << "' " << option << "; its outputs are "
                           << outputNames(function);
    return found;
  }

  Value findLogits(func::FuncOp function) {
    if (!logits.empty())
      return namedOutput(function, logits, "(--logits)");
    SmallVector<unsigned> floats;
    for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
      if (auto output = train::bindingOfResult(function, index, BindingKind::Output);
          output && isa<FloatType>(elementOf(value)) && !lossOutput.getValue().has(output.getName()))
        floats.push_back(static_cast<unsigned>(index));
    if (floats.size() == 1)
      return returnOf(function)->getOperand(floats[0]);
    if (floats.empty() && !lossOutput.getValue().empty())
      function.emitError() << "--loss has no float output left in addition to --loss-output "
                           << lossOutput.getValue().text() << "; give one of the two, or another output; "
                           << "the outputs are " << outputNames(function);
    else if (floats.empty())
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

  static LogicalResult checkLabels(func::FuncOp function, const LossInputs &inputs, RankedTensorType expected,
                                   bool classes) {
    auto found = tensorType(inputs.labels);
    bool typeFits = classes ? isa<IntegerType>(found.getElementType()) && !found.getElementType().isInteger(1)
                            : found.getElementType() == expected.getElementType();
    if (typeFits && found.getShape() == expected.getShape())
      return success();
    return function.emitError() << "the labels input '" << inputs.labelsName << "' is " << found
                                << ", expected " << expected << " for --loss " << inputs.term.text();
  }

  void noteItems(func::FuncOp function, double items) {
    train::NominalItemsNote(function->getContext())
        .setAttr(function, FloatAttr::get(Float64Type::get(&getContext()), items));
    setGradient(function, items);
  }

  static SmallVector<int64_t> axesFrom(Value value, int64_t first) {
    return llvm::to_vector(llvm::seq<int64_t>(first, rankOf(value)));
  }

  /// Of each row: the first one of a pair has the pair's.
  static Value ofRows(Formula &f, Value value, int64_t rowsPerItem) {
    Value rows = f.sum(value, axesFrom(value, 1));
    if (rowsPerItem == 1)
      return rows;
    const int64_t items = shapeOf(rows)[0];
    Value none = f.filled({items, rowsPerItem - 1}, 0);
    return f.reshape(f.concat({f.reshape(rows, {items, 1}), none}, 1), {items * rowsPerItem});
  }

  LogicalResult setSums(Formula &f, func::FuncOp function, TermSums &term) {
    ItemLosses &items = term.items;
    items.losses = f.mul(items.losses, term.weight);
    const double own = nominalItems > 0 ? static_cast<double>(nominalItems) : term.nominal();
    const double nominal = own * static_cast<double>(microBatches(function));
    auto counts = items.counts;
    if (!counts && items.rowsPerItem != 1)
      counts = f.filled(shapeOf(items.losses), 1);
    setResult(function, "loss_sum", f.sum(items.losses, axesFrom(items.losses, 0)));
    if (items.counts)
      setResult(function, "items", f.sum(items.counts, axesFrom(items.counts, 0)));
    if (!items.isOfBatch) {
      setResult(function, "loss_rows", ofRows(f, items.losses, items.rowsPerItem));
      if (counts)
        setResult(function, "item_rows", ofRows(f, counts, items.rowsPerItem));
    }
    for (const Metric &metric : items.metrics)
      setMetric(function, metric, metric.sum);
    noteItems(function, nominal);
    return success();
  }

  /// The log has its sum over the step's items, divided by their number.
  void setMetric(func::FuncOp function, const Metric &metric, Value sum) {
    const StringRef name = abi::kStepMetrics[static_cast<size_t>(metric.kind)];
    const std::string result = (Twine(StringRef(abi::kMetricPrefix)) + name).str();
    if (!findResult(function, BindingKind::Result, result))
      setResult(function, result, sum);
  }

  /// The sum of weight times mean, each mean over the items of its own term in all ranks. Micro-batches have
  /// means of their own: that of a step is known after the last of them.
  LogicalResult setWeightedMean(Formula &f, func::FuncOp function, ArrayRef<TermSums> terms) {
    const bool varies = llvm::any_of(terms, [](const TermSums &term) { return bool(term.items.counts); });
    if (varies && accumulate > 1 && dist::partsOf(function) > 0)
      return function.emitError()
             << "several losses of which one has items that may not count (ignored labels, weights) are not "
                "available yet with --same-bits: each part has a mean of its own";
    if (varies && accumulate > 1)
      function.emitRemark() << "several losses with --accumulate " << accumulate.getValue()
                            << ": each mean is over the items of a micro-batch that count (not over the "
                               "step's), and micro-batches are averaged, as PyTorch's accumulation does";
    const bool isNamed = spec().terms.size() > 1 || !lossOutput.getValue().empty();
    Value total, rows;
    bool hasRows = !varies && lossOutput.getValue().empty();
    for (const TermSums &term : terms) {
      const ItemLosses &items = term.items;
      hasRows &= !items.isOfBatch && items.rowsPerItem == 1;
      Value scaled = f.mul(items.losses, term.weight / term.nominal());
      Value sum = f.sum(scaled, axesFrom(scaled, 0));
      Value share = items.counts ? ofNominal(f, function, term) : Value();
      if (share)
        sum = f.mul(sum, share);
      if (isNamed && !term.name.empty() && term.weight != 0)
        setTerm(function, term.name, term.weight == 1 ? sum : f.mul(sum, 1 / term.weight));
      for (const Metric &metric : items.metrics) {
        Value mean = f.mul(metric.sum, 1 / term.nominal());
        setMetric(function, metric, share ? f.mul(mean, share) : mean);
      }
      total = total ? f.add(total, sum) : sum;
      if (hasRows)
        rows = rows ? f.add(rows, ofRows(f, scaled, 1)) : ofRows(f, scaled, 1);
    }
    if (total = addOutputs(f, function, total, isNamed); !total)
      return failure();
    setResult(function, "loss_sum", total);
    if (hasRows)
      setResult(function, "loss_rows", rows);
    noteItems(function, static_cast<double>(microBatches(function)));
    return success();
  }

  /// The nominal number of items over the actual one; 0 where there is none.
  Value ofNominal(Formula &f, func::FuncOp function, const TermSums &term) {
    Value own = f.sum(term.items.counts, axesFrom(term.items.counts, 0));
    auto quotient = [&](Value count, double nominal) -> Value {
      Value isNone = f.equal(count, f.filled({}, 0));
      return f.where(isNone, 0, f.div(f.filled({}, nominal), f.where(isNone, 1, count)));
    };
    const dist::RankGroup group = dist::rowGroup(function);
    Value here = quotient(own, term.nominal());
    if (group.ranks == 1)
      return here;
    Value all = dist::AllReduceOp::create(f.b, f.loc, own, group, dist::ReduceKind::Sum).getResult(0);
    Value there = quotient(all, term.nominal() * static_cast<double>(group.ranks));
    return train::ByModeOp::create(f.b, f.loc, here.getType(), there, here);
  }
};
} // namespace
} // namespace kedge::autodiff
