#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Adapters/AdapterStates.h"
#include "passes/Adapters/FolderWeights.h"
#include "passes/Adapters/Passes.h"
#include "runtime/io/NamePattern.h"

namespace kedge::adapters {
#define GEN_PASS_DEF_INSERTSCALES
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

/// A weight with what its module's outputs, or inputs, are multiplied by.
struct Scale {
  AdaptedWeight weight;
  std::string path; ///< in a folder of adapters
  bool ofInputs = false;
  FolderTensor first = {}; ///< without a place: ones
};

/// What a module gives: behind its bias where it has one.
struct Outputs {
  Value value;
  train::StateOp bias;
};

struct InsertScales : impl::InsertScalesBase<InsertScales> {
  using Base::Base;
  func::FuncOp model;
  int64_t added = 0;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to put scales into");
      return signalPassFailure();
    }
    added = 0;
    SmallVector<Scale> scales;
    if (failed(folder.empty() ? fromPatterns(scales) : fromFolder(scales)))
      return signalPassFailure();
    for (Scale &scale : scales)
      if (failed(insert(scale)))
        return signalPassFailure();
    addStatistic("scales", scales.size());
    addStatistic("parameters added", added);
  }

  LogicalResult fromPatterns(SmallVectorImpl<Scale> &scales) {
    const auto all = rt::NamePattern::of("--ia3 '" + weights + "'", weights),
               ofInputs = inputs.empty() ? rt::NamePattern()
                                         : rt::NamePattern::of("--ia3-inputs '" + inputs + "'", inputs);
    bool scalesInputs = false;
    for (AdaptedWeight &weight : weightsOf(model)) {
      const std::string name = weight.name().str();
      if (!all.isIn(name) || weight.isBias())
        continue;
      if (failed(check(weight, "--ia3")))
        return failure();
      scales.push_back({weight, weight.path(), ofInputs.isIn(name)});
      scalesInputs |= scales.back().ofInputs;
    }
    if (scales.empty())
      return getOperation().emitError()
             << "--ia3 '" << weights
             << "': no weight of a MatMul or Gemm has such a name; kedge lint --json lists the "
                "names of all tensors";
    if (!inputs.empty() && !scalesInputs)
      return getOperation().emitError()
             << "--ia3-inputs '" << inputs << "': no weight that --ia3 names has such a name";
    return success();
  }

  LogicalResult fromFolder(SmallVectorImpl<Scale> &scales) {
    LogicalResult done = success();
    const auto read = [&] { done = fromFolder(scales, rt::AdapterFolder::open(folder)); };
    const auto report = [&](const char *text) { getOperation().emitError() << "--adapter: " << text; };
    return success(succeeded(reportingFailures(read, report)) && succeeded(done));
  }

  LogicalResult fromFolder(SmallVectorImpl<Scale> &scales, const rt::AdapterFolder &given) {
    SmallVector<AdaptedWeight> all = weightsOf(model);
    FolderWeights named(getOperation(), all, given);
    for (const rt::ScaledModule &module : given.scales()) {
      FailureOr<AdaptedWeight *> weight = named.find(module.path + ".weight");
      if (failed(weight) || failed(check(**weight, "--adapter " + folder.getValue())))
        return failure();
      Scale scale{**weight, module.path, module.ofInputs};
      FailureOr<FolderTensor> first = named.tensor(module.key(), shapeOf(scale));
      if (failed(first))
        return failure();
      scale.first = *first;
      scales.push_back(scale);
    }
    return success();
  }

  LogicalResult check(AdaptedWeight &weight, StringRef option) {
    const bool isMatrix =
        !weight.sites.empty() && rankOf(weight.value) == 2 &&
        llvm::all_of(weight.sites, [](Site site) { return isa<onnx::MatMulOp, onnx::GemmOp>(site.op); });
    if (!isMatrix)
      return getOperation().emitError()
             << option << ": '" << weight.name() << "' (" << weight.value.getType()
             << ") is no matrix of a product: scales are not available yet for others";
    if (weight.other)
      return getOperation().emitError()
             << option << ": '" << weight.name() << "' is also read by "
             << weight.other->getName().getStringRef()
             << ", which a scale would not change: a merged weight could not say so";
    if (llvm::any_of(weight.sites, [&](Site site) { return site.outFirst != weight.sites.front().outFirst; }))
      return getOperation().emitError()
             << option << ": '" << weight.name()
             << "' is used both as it is and transposed: one scale cannot fit both";
    return checkTrainsNot(getOperation(), weight, option);
  }

  /// As peft has it: a column of outputs, or a row of inputs.
  static SmallVector<int64_t> shapeOf(const Scale &scale) {
    const SmallVector<int64_t> whole = scale.weight.shape();
    return scale.ofInputs ? SmallVector<int64_t>{1, whole[1]} : SmallVector<int64_t>{whole[0], 1};
  }

  train::StateOp stateOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    FlatSymbolRefAttr symbol =
        argument ? train::stateOfArgument(model, argument.getArgNumber()) : FlatSymbolRefAttr();
    return symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(model, symbol) : train::StateOp();
  }

  FailureOr<Outputs> outputsOf(AdaptedWeight &weight, Operation *op) {
    auto refuse = [&](StringRef what) {
      return getOperation().emitError()
             << "a scale of '" << weight.name() << "' is not available yet: " << what;
    };
    Outputs found{op->getResult(0), {}};
    if (auto gemm = dyn_cast<onnx::GemmOp>(op); gemm && gemm.getC()) {
      found.bias = stateOf(gemm.getC());
      if (!found.bias)
        return refuse("what is added to its product is no bias");
    } else if (auto sum = found.value.hasOneUse() ? dyn_cast<onnx::AddOp>(*found.value.user_begin())
                                                  : onnx::AddOp()) {
      train::StateOp bias = stateOf(sum.getA() == found.value ? sum.getB() : sum.getA());
      if (bias && bias.wholeType().getShape() == ArrayRef<int64_t>{weight.shape()[0]})
        found = {sum.getResult(), bias};
    }
    if (found.bias && (found.bias.getRole() == train::Role::Parameter || tune::encodingOf(found.bias)))
      return refuse("its bias trains as it is");
    return found;
  }

  LogicalResult insert(Scale &scale) {
    SmallVector<Outputs> outputs;
    train::StateOp bias;
    for (Site site : scale.weight.sites) {
      FailureOr<Outputs> own = scale.ofInputs ? Outputs() : outputsOf(scale.weight, site.op);
      if (failed(own))
        return failure();
      if (!outputs.empty() && own->bias != bias)
        return getOperation().emitError() << "a scale of '" << scale.weight.name()
                                          << "' is not available yet: its products have several biases";
      bias = own->bias;
      outputs.push_back(*own);
    }
    Value l = makeParameter(scale, bias);
    for (auto [site, own] : llvm::zip(scale.weight.sites, outputs))
      scale.ofInputs ? scaleInput(site.op, l) : scaleOutput(own.value, l);
    return success();
  }

  Value makeParameter(Scale &scale, train::StateOp bias) {
    Builder builder(&getContext());
    auto mark = markOf(scale.weight, scale.ofInputs ? tune::Factor::InputScale : tune::Factor::OutputScale,
                       scale.path);
    if (bias)
      mark = tune::AdapterAttr::get(&getContext(), mark.getFactor(), mark.getBase(), mark.getScale(),
                                    mark.getTransposed(), mark.getPath(), mark.getFrom(),
                                    FlatSymbolRefAttr::get(bias.getSymNameAttr()), {});
    auto type = RankedTensorType::get(shapeOf(scale), elementOf(scale.weight.value));
    added += type.getNumElements();
    Attribute init = scale.first.place ? scale.first.place : builder.getF64FloatAttr(1);
    return addParameter(model, mark, scale.weight.path() + ".ia3_l", type, init, scale.first.stored);
  }

  static void scaleInput(Operation *op, Value l) {
    PlacedBuilder builder(op);
    auto gemm = dyn_cast<onnx::GemmOp>(op);
    const bool transposed = gemm ? gemm.getTransA() : cast<onnx::MatMulOp>(op).getTransA();
    if (transposed)
      l = onnx::ReshapeOp::create(builder, op->getLoc(), l, ArrayRef<int64_t>{kedge::shapeOf(l)[1], 1});
    op->setOperand(0, onnx::MulOp::create(builder, op->getLoc(), op->getOperand(0), l));
  }

  static void scaleOutput(Value y, Value l) {
    Operation *op = y.getDefiningOp();
    PlacedBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value row = onnx::ReshapeOp::create(builder, op->getLoc(), l, ArrayRef<int64_t>{kedge::shapeOf(l)[0]});
    Value scaled = onnx::MulOp::create(builder, op->getLoc(), y, row);
    y.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }
};
} // namespace
} // namespace kedge::adapters
