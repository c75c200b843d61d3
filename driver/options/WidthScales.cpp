#include "driver/options/WidthScales.h"
#include "driver/options/CompileOptions.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Model/Model.h"
#include "lib/Support/Error.h"

using namespace mlir;

namespace kedge::driver {
namespace {
using autodiff::Optimizer;

/// What the optimizer does to a gradient: divides it by its size, or not.
enum class Rule { Adam, Sgd };

Rule ruleOf(Optimizer optimizer) {
  if (optimizer == Optimizer::Sgd)
    return Rule::Sgd;
  for (Optimizer each : {Optimizer::AdamW, Optimizer::Adam, Optimizer::AdamW8bit, Optimizer::Adam8bit,
                         Optimizer::RmsProp, Optimizer::Adagrad})
    if (optimizer == each)
      return Rule::Adam;
  fail("--mup: --optimizer {} has no rule of its own there; expected adamw, adam, adamw8bit, adam8bit, "
       "rmsprop, "
       "adagrad or sgd",
       wordOf(optimizer));
}

/// A parameter and how many times as wide as in the base file it is along each dimension; 1: no width.
struct Widths {
  train::StateOp state;
  Value argument;
  std::string name;
  SmallVector<double> times;
  onnx::MatrixUse use;             ///< of the product that reads it
  int64_t inputs = 1, outputs = 0; ///< dimensions that a width of each kind may be in

  SmallVector<int64_t> wide() const {
    SmallVector<int64_t> dims;
    for (size_t dim = 0; dim < times.size(); ++dim)
      if (times[dim] != 1)
        dims.push_back(static_cast<int64_t>(dim));
    return dims;
  }
};

/// What the rate is divided by, and the decay multiplied.
double divisorOf(const Widths &widths, Rule rule) {
  const SmallVector<int64_t> wide = widths.wide();
  if (wide.size() == 2) {
    const double in = widths.times[widths.inputs], out = widths.times[widths.outputs];
    return rule == Rule::Adam ? in : in / out;
  }
  return wide.size() == 1 && rule == Rule::Sgd ? 1 / widths.times[wide[0]] : 1;
}

/// Not 1, which mup's readout multiplies by when nothing else is asked.
bool isFactor(Value x) {
  auto constant = x.getDefiningOp<onnx::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  return elements && elements.getNumElements() == 1 &&
         elements.getSplatValue<APFloat>().convertToDouble() != 1;
}

/// Whether a product's input or output is multiplied or divided by a number.
bool isScaled(Operation *product) {
  auto scales = [](Operation *op) {
    return op && isa<onnx::MulOp, onnx::DivOp>(op) && llvm::any_of(op->getOperands(), isFactor);
  };
  Operation *before = product->getOperand(0).getDefiningOp();
  while (before && before->getNumOperands() == 1) // moved or cast
    before = before->getOperand(0).getDefiningOp();
  return scales(before) || llvm::any_of(product->getResult(0).getUsers(), scales);
}

/// A head that turns width into what is none needs 1 / width in front of it, which is in the graph or
/// nowhere.
void checkHead(const Widths &widths, const CompileOptions &options) {
  const SmallVector<int64_t> wide = widths.wide();
  if (!widths.use.product || wide.size() != 1 || wide[0] != widths.inputs || isScaled(widths.use.product))
    return;
  fail("{}: --mup {}: '{}' makes {} outputs of a width that is {} times the base's, and its product is not "
       "divided "
       "by it; export the model with mup.MuReadout as its head",
       options.model.model, options.mup, widths.name, shapeOf(widths.argument)[widths.outputs],
       widths.times[wide[0]]);
}

/// Which dimensions are of inputs and of outputs: its reader says so.
void findSides(Widths &widths) {
  if (!widths.argument)
    return;
  if (rankOf(widths.argument) == 2)
    widths.use = onnx::matrixUse(widths.argument);
  if (widths.use.product) {
    std::tie(widths.inputs, widths.outputs) = std::pair(1 - widths.use.outputs, widths.use.outputs);
    return;
  }
  for (Operation *reader : widths.argument.getUsers()) {
    if (isa<onnx::ConvTransposeOp>(reader))
      std::tie(widths.inputs, widths.outputs) = std::pair(0, 1);
    if (isa<onnx::LSTMOp, onnx::GRUOp, onnx::RNNOp>(reader))
      std::tie(widths.inputs, widths.outputs) = std::pair(2, 1);
  }
}

Widths widthsOf(train::StateOp state, Value argument, const model::Model &base,
                const CompileOptions &options) {
  Widths widths{state, argument, state.getOnnxName().value_or(state.getSymName()).str(), {}, {}};
  const model::Tensor *tensor = base.graph.findInitializer(widths.name);
  if (!tensor)
    fail("--mup {}: has no tensor '{}', which {} trains; expected a file of the same model with other widths",
         options.mup, widths.name, options.model.model);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state.getType()).getShape();
  if (tensor->dims.size() != shape.size())
    fail("--mup {}: '{}' has {} dimensions, and in {} {}; expected as many", options.mup, widths.name,
         tensor->dims.size(), options.model.model, shape.size());
  for (auto [size, before] : llvm::zip_equal(shape, tensor->dims))
    widths.times.push_back(before == 0 ? 1 : static_cast<double>(size) / static_cast<double>(before));
  findSides(widths);
  for (int64_t dim : widths.wide())
    if (widths.wide().size() > 1 && dim != widths.inputs && dim != widths.outputs)
      fail("--mup {}: '{}' differs in dimension {}, which is neither that of its inputs ({}) nor of its "
           "outputs "
           "({}); expected widths in these alone",
           options.mup, widths.name, dim, widths.inputs, widths.outputs);
  return widths;
}

Value argumentOf(ModuleOp module, train::StateOp state) {
  auto model = train::functionOf(module, train::FunctionKind::Model);
  for (BlockArgument argument : model.getArguments())
    if (FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
        symbol && symbol.getValue() == state.getSymName())
      return argument;
  return {};
}
} // namespace

void checkWidths(const CompileOptions &options) {
  if (options.mup.empty())
    return;
  ruleOf(options.update.optimizer);
  if (options.model.adapters.given())
    fail("--mup: not available yet with adapters, whose base does not train; leave one of the two out");
}

void applyWidths(ModuleOp module, const CompileOptions &options) {
  if (options.mup.empty())
    return;
  const Rule rule = ruleOf(options.update.optimizer);
  const model::Model base = model::loadModel(options.mup, {.requireExternalData = false});
  Builder builder(module.getContext());
  bool differs = false;
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getRole() != train::Role::Parameter)
      continue;
    const Widths widths = widthsOf(state, argumentOf(module, state), base, options);
    checkHead(widths, options);
    differs |= !widths.wide().empty();
    const double divisor = divisorOf(widths, rule);
    if (divisor == 1)
      continue;
    state.setLrScaleAttr(builder.getF64FloatAttr(state.getLrScale().convertToDouble() / divisor));
    state->setAttr(tune::decayScaleName, builder.getF64FloatAttr(divisor)); // rate times decay stays
  }
  if (!differs)
    fail("--mup {}: no tensor that trains differs from {} in a dimension; expected a file of the same model "
         "with "
         "other widths",
         options.mup, options.model.model);
}

} // namespace kedge::driver
