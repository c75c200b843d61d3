#include "test/unit/gradients/NarrowGradients.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines/Pipelines.h"
#include "test/unit/gradients/CaseValues.h"
#include "test/unit/gradients/ReverseFunction.h"
#include <cmath>
#include <regex>

using namespace mlir;

namespace kedge::test {
namespace {

using Gradients = std::map<unsigned, std::vector<double>>;

/// The function with all f64 tensors in f32.
OwningOpRef<ModuleOp> inFp32(func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  text = std::regex_replace(text, std::regex("([x<])f64>"), "$1f32>");
  text = std::regex_replace(text, std::regex("to = f64"), "to = f32");
  text = std::regex_replace(text, std::regex("func\\.func (private )?@\\w+"), "func.func @model");
  text = std::regex_replace(text, std::regex("train\\.binding = #train\\.binding<[^>]*>,? ?"), "");
  return parseSourceString<ModuleOp>(text, function.getContext());
}

double rounded(double value, Type type) {
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// What both functions compute from.
struct Values {
  std::vector<std::vector<double>> arguments, weights;

  Values(func::FuncOp function, Type narrow) {
    std::mt19937 random(7);
    for (BlockArgument argument : function.getArguments())
      arguments.push_back(drawArgument(function, argument, random));
    for (Value result : function.front().getTerminator()->getOperands())
      weights.push_back(drawWeights(result, random));
    for (auto [argument, values] : llvm::zip(function.getArguments(), arguments))
      if (isa<FloatType>(elementOf(argument)))
        round(values, narrow);
    for (std::vector<double> &values : weights)
      round(values, narrow);
  }

private:
  static void round(std::vector<double> &values, Type narrow) {
    for (double &value : values)
      value = rounded(value, narrow);
  }
};

class Side {
public:
  explicit Side(OwningOpRef<ModuleOp> module) : module(std::move(module)), reverse(function()) {}

  std::string run(const Values &values) {
    unsigned count = function().getNumArguments();
    if (std::string problem = reverse.build(); !problem.empty())
      return problem;
    try {
      auto compiled = reverse.compile();
      for (unsigned k = 0; k < count; ++k)
        give(*compiled, function().front().getArgument(k), values.arguments[k]);
      for (auto [seed, weights] : llvm::zip(reverse.seeds(), values.weights))
        if (seed)
          give(*compiled, cast<BlockArgument>(seed), weights);
      compiled->run();
      for (unsigned k = 0; k < count; ++k)
        if (reverse.gradient(function().front().getArgument(k)))
          take(k, compiled->output(reverse.outputOf(k)));
    } catch (const std::exception &problem) {
      return problem.what();
    }
    return "";
  }

  Gradients gradients;
  const std::set<std::string> &ops() const { return reverse.differentiated(); }

private:
  func::FuncOp function() { return module->lookupSymbol<func::FuncOp>("model"); }

  static void give(CompiledFunction &compiled, BlockArgument argument, const std::vector<double> &values) {
    std::string name = std::to_string(argument.getArgNumber());
    if (compiled.hasInput(name))
      compiled.setInput(name, makeTensor(tensorType(argument), values));
  }

  void take(unsigned argument, const interpret::HostTensor &tensor) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      gradients[argument].push_back(tensor.floatAt(i));
  }

  OwningOpRef<ModuleOp> module;
  ReverseFunction reverse;
};

std::string cast16(ModuleOp module, const std::string &type) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "; ";
    return success();
  });
  PassManager manager(module.getContext());
  pipelines::addPrecisionPipeline(manager, {.precision = valueOf<pipelines::Precision>(type)});
  return succeeded(manager.run(module)) ? "" : messages;
}

double largest(const std::vector<double> &values) {
  double most = 0;
  for (double value : values)
    most = std::max(most, std::abs(value));
  return most;
}

double gapOf(const std::vector<double> &narrow, const std::vector<double> &wide) {
  std::vector<double> difference(wide.size());
  for (size_t i = 0; i < wide.size(); ++i)
    difference[i] = narrow[i] - wide[i];
  double gap = largest(difference);
  return gap == 0 ? 0 : gap / largest(wide);
}

/// The first row that the name begins with. Seeds and arguments are exact, results of forward and of backward
/// are rounded once each, and a gradient that two paths meet in once more.
struct Allowed {
  const char *name;
  double roundings;
};
constexpr Allowed kAllowed[] = {
    // Backward only moves, selects or negates.
    {"elementwise:onnx_Neg", 0},
    {"elementwise:onnx_Abs", 0},
    {"elementwise:onnx_Relu", 0},
    {"elementwise:onnx_Sign", 0},
    {"elementwise:onnx_Ceil", 0},
    {"elementwise:onnx_Floor", 0},
    {"elementwise:onnx_Round", 0},
    {"elementwise:onnx_Shrink", 0},
    // Backward reads a forward result that was rounded, squares it, or has two factors.
    {"elementwise:onnx_Div", 4},
    {"elementwise:onnx_Mul", 4},
    {"elementwise:onnx_Pow", 3},
    {"elementwise:onnx_Reciprocal", 3},
    {"elementwise:onnx_Sigmoid", 3},
    {"elementwise:onnx_Sqrt", 3},
    {"elementwise:onnx_Tan", 2},
    {"elementwise:onnx_Exp", 2},
    // One kernel, rounded once; sums of broadcast operands round once more.
    {"elementwise:", 1.5},
    {"activations:", 1.5},
    {"shapes:", 1.5},
    {"losses:", 1.5},
    {"indices:", 1.5},
    {"norms:", 1.5},
    {"convolutions:", 1.5},
    // Probabilities, products of products and sums are rounded between two kernels.
    {"attention:", 2},
    {"products:", 2},
    {"random:", 2},
    {"reductions:", 2},
    // Gates and states are rounded in every step.
    {"recurrent:", 5},
};

} // namespace

double allowedRoundings(const std::string &name) {
  for (const Allowed &row : kAllowed)
    if (name.rfind(row.name, 0) == 0)
      return row.roundings;
  return 0;
}

NarrowGap gapOfNarrowGradients(func::FuncOp function, const std::string &type) {
  MLIRContext *context = function.getContext();
  Type narrow = type == "bf16" ? Type(BFloat16Type::get(context)) : Type(Float16Type::get(context));
  OwningOpRef<ModuleOp> module = inFp32(function);
  if (!module)
    return {"is not to be read in f32", 0, {}};
  func::FuncOp model = module->lookupSymbol<func::FuncOp>("model");
  OwningOpRef<ModuleOp> wideModule = CompiledFunction::isolate(model),
                        narrowModule = CompiledFunction::isolate(model);
  if (std::string problem = cast16(*narrowModule, type); !problem.empty())
    return {problem, 0, {}};
  const Values values(function, narrow);
  Side wide(std::move(wideModule)), low(std::move(narrowModule));
  for (Side *side : {&wide, &low})
    if (std::string problem = side->run(values); !problem.empty())
      return {problem, 0, {}};
  const double rounding = type == "bf16" ? std::ldexp(1.0, -8) : std::ldexp(1.0, -11);
  NarrowGap gap{"", 0, wide.ops()};
  for (const auto &[argument, values] : wide.gradients)
    if (!function.getArgAttr(argument, "check.constant"))
      gap.roundings = std::max(gap.roundings, gapOf(low.gradients[argument], values) / rounding);
  return gap;
}

} // namespace kedge::test
