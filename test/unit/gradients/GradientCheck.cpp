#include "test/unit/gradients/GradientCheck.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "test/unit/gradients/CaseValues.h"
#include "test/unit/gradients/ReverseFunction.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace kedge;

namespace {
bool isFloat(Value v) { return isa<FloatType>(elementOf(v)); }

class Check {
public:
  explicit Check(func::FuncOp function)
      : function(function), block(function.front()), reverse(function), random(7) {}
  std::string run();

  /// Names of ops.
  const std::set<std::string> &differentiated() const { return reverse.differentiated(); }

private:
  void bindValues(interpret::ConstantEvaluator &evaluator);
  double compiledLoss();
  double loss();
  std::string compare(unsigned argument);
  std::string prepareAndCompare(unsigned arguments);
  std::string compareAll(unsigned arguments);

  func::FuncOp function;
  Block &block;
  test::ReverseFunction reverse;
  std::mt19937 random;
  SmallVector<std::vector<double>> values;
  SmallVector<std::vector<double>> weights;         // of the results
  std::unique_ptr<test::CompiledFunction> compiled; // results, then gradients
  std::string error;
};

void Check::bindValues(interpret::ConstantEvaluator &evaluator) {
  for (unsigned k = 0; k < values.size(); ++k)
    evaluator.bind(block.getArgument(k), test::makeTensor(tensorType(block.getArgument(k)), values[k]));
}

double Check::compiledLoss() {
  for (unsigned k = 0; k < values.size(); ++k)
    compiled->setInput(std::to_string(k), test::makeTensor(tensorType(block.getArgument(k)), values[k]));
  for (unsigned k = 0; k < reverse.seeds().size(); ++k)
    if (reverse.seeds()[k])
      compiled->setInput(std::to_string(cast<BlockArgument>(reverse.seeds()[k]).getArgNumber()),
                         test::makeTensor(tensorType(reverse.seeds()[k]), weights[k]));
  compiled->run();
  double total = 0;
  for (unsigned k = 0; k < weights.size(); ++k) {
    if (!reverse.seeds()[k])
      continue;
    interpret::HostTensor tensor = compiled->output(std::to_string(k));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      total += weights[k][i] * tensor.floatAt(i);
  }
  return total;
}

double Check::loss() {
  if (compiled)
    return compiledLoss();
  interpret::ConstantEvaluator evaluator;
  bindValues(evaluator);
  double total = 0;
  for (auto [k, result] : llvm::enumerate(block.getTerminator()->getOperands())) {
    const interpret::HostTensor *tensor = evaluator.evaluate(result);
    if (!tensor) {
      error = fmt::format("result {} cannot be evaluated", k);
      return 0;
    }
    for (int64_t i = 0; isFloat(result) && i < tensor->elements(); ++i)
      total += weights[k][i] * tensor->floatAt(i);
  }
  return total;
}

std::string Check::compare(unsigned index) {
  Value argument = block.getArgument(index), grad = reverse.gradient(argument);
  std::vector<double> found(values[index].size(), 0.0);
  if (grad && compiled) {
    loss();
    interpret::HostTensor tensor = compiled->output(reverse.outputOf(index));
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = tensor.floatAt(i);
  } else if (grad) {
    interpret::ConstantEvaluator evaluator;
    bindValues(evaluator);
    for (unsigned k = 0; k < reverse.seeds().size(); ++k)
      if (reverse.seeds()[k])
        evaluator.bind(reverse.seeds()[k], test::makeTensor(tensorType(reverse.seeds()[k]), weights[k]));
    const interpret::HostTensor *tensor = evaluator.evaluate(grad);
    if (!tensor)
      return fmt::format("the gradient of argument {} cannot be evaluated", index);
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = tensor->floatAt(i);
  }
  double tolerance = 1e-6, largest = 0;
  if (auto given = function->getAttrOfType<FloatAttr>("check.tolerance"))
    tolerance = given.getValueAsDouble();
  std::vector<double> expected;
  for (double &value : values[index]) {
    double kept = value, step = 1e-4;
    double difference = 0;
    // Five points: the error falls with step^4.
    for (auto [at, weight] :
         {std::pair(-2.0, 1.0), std::pair(-1.0, -8.0), std::pair(1.0, 8.0), std::pair(2.0, -1.0)}) {
      value = kept + at * step;
      difference += weight * loss();
    }
    value = kept;
    expected.push_back(difference / (12 * step));
    largest = std::max(largest, std::abs(expected.back()));
  }
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - expected[i]) <=
          tolerance * std::max(std::abs(expected[i]), 0.1 * largest) + 1e-10))
      return fmt::format("argument {} element {}: gradient {}, by differences {}", index, i, found[i],
                         expected[i]);
  return "";
}

std::string Check::prepareAndCompare(unsigned count) {
  for (BlockArgument argument : block.getArguments())
    values.push_back(test::drawArgument(function, argument, random));
  for (Value result : block.getTerminator()->getOperands())
    weights.push_back(test::drawWeights(result, random));
  bool random = function->hasAttr("check.random");
  if (!random)
    loss();
  if (error.empty())
    error = reverse.build();
  if (!error.empty() || random)
    return error;
  return compareAll(count);
}

std::string Check::compareAll(unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    if (!isFloat(block.getArgument(k)) || function.getArgAttr(k, "check.constant"))
      continue;
    if (std::string difference = compare(k); !difference.empty())
      return difference;
  }
  return error;
}

std::string Check::run() {
  unsigned count = block.getNumArguments();
  if (std::string difference = prepareAndCompare(count); !difference.empty())
    return difference;
  try {
    compiled = reverse.compile();
  } catch (const std::exception &problem) {
    return std::string("compiled: ") + problem.what();
  }
  std::string difference = compareAll(count);
  return difference.empty() ? "" : "compiled: " + difference;
}
} // namespace

std::string test::checkGradients(func::FuncOp function, std::set<std::string> &covered) {
  Check check(function);
  std::string difference = check.run();
  if (difference.empty())
    covered.insert(check.differentiated().begin(), check.differentiated().end());
  return difference;
}
