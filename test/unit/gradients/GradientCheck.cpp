#include "GradientCheck.h"
#include "kedge/Interpret/ConstantEvaluator.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "test/support/CompiledFunction.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace mlir;
using namespace kedge;

namespace {
bool isFloat(Value v) { return isa<FloatType>(elementOf(v)); }

HostTensor makeTensor(RankedTensorType type, const std::vector<double> &values) {
  HostTensor tensor{type, {}};
  auto append = [&](auto number) {
    auto *bytes = reinterpret_cast<const char *>(&number);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof(number));
  };
  Type element = type.getElementType();
  for (double value : values)
    if (element.isF64())
      append(value);
    else if (element.isF32())
      append(static_cast<float>(value));
    else if (element.isInteger(1))
      append(static_cast<char>(value != 0));
    else if (element.isInteger(32))
      append(static_cast<int32_t>(value));
    else
      append(static_cast<int64_t>(value));
  return tensor;
}

class Check {
public:
  explicit Check(func::FuncOp function) : function(function), block(function.front()), random(7) {}
  std::string run();

  std::set<std::string> differentiated; // names of ops

private:
  std::vector<double> draw(BlockArgument argument);
  void bindValues(ConstantEvaluator &evaluator);
  void compile();
  double compiledLoss();
  double loss();
  bool differentiate();
  void accumulate(OpBuilder &builder, Value v, Value grad);
  std::string compare(unsigned argument);
  std::string prepareAndCompare(unsigned arguments);
  std::string compareAll(unsigned arguments);
  double number(Attribute attribute) { return cast<FloatAttr>(attribute).getValueAsDouble(); }

  func::FuncOp function;
  Block &block;
  std::mt19937 random;
  SmallVector<std::vector<double>> values;
  SmallVector<std::vector<double>> weights; // of the results
  llvm::DenseMap<Value, Value> grads;
  SmallVector<Value> seeds;
  std::unique_ptr<test::CompiledFunction> compiled; // results, then gradients
  llvm::DenseMap<unsigned, unsigned> gradientResult; // of an argument
  std::string error;
};

std::vector<double> Check::draw(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  double low = -1, high = 1;
  if (auto range = function.getArgAttrOfType<ArrayAttr>(index, "check.range")) {
    low = number(range[0]);
    high = number(range[1]);
  }
  int64_t below = 2;
  if (auto limit = function.getArgAttrOfType<IntegerAttr>(index, "check.below"))
    below = limit.getInt();
  std::vector<double> result(elementCount(shapeOf(argument)));
  for (double &value : result)
    value = isFloat(argument) ? std::uniform_real_distribution<double>(low, high)(random)
                              : std::uniform_int_distribution<int64_t>(0, below - 1)(random);
  return result;
}

void Check::bindValues(ConstantEvaluator &evaluator) {
  for (unsigned k = 0; k < values.size(); ++k)
    evaluator.bind(block.getArgument(k), makeTensor(tensorType(block.getArgument(k)), values[k]));
}

/// Results and gradients as one function of the CPU path.
void Check::compile() {
  Operation *terminator = block.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  for (unsigned k = 0; k < block.getNumArguments(); ++k)
    if (Value grad = grads.lookup(block.getArgument(k))) {
      gradientResult[k] = results.size();
      results.push_back(grad);
    }
  terminator->setOperands(results);
  compiled = std::make_unique<test::CompiledFunction>(test::CompiledFunction::isolate(function));
  terminator->setOperands(ArrayRef<Value>(results).take_front(weights.size()));
}

double Check::compiledLoss() {
  for (unsigned k = 0; k < values.size(); ++k)
    compiled->setInput(std::to_string(k), makeTensor(tensorType(block.getArgument(k)), values[k]));
  for (unsigned k = 0; k < seeds.size(); ++k)
    if (seeds[k])
      compiled->setInput(std::to_string(cast<BlockArgument>(seeds[k]).getArgNumber()),
                         makeTensor(tensorType(seeds[k]), weights[k]));
  compiled->run();
  double total = 0;
  for (unsigned k = 0; k < weights.size(); ++k) {
    if (!seeds[k])
      continue;
    HostTensor tensor = compiled->output(std::to_string(k));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      total += weights[k][i] * tensor.floatAt(i);
  }
  return total;
}

double Check::loss() {
  if (compiled)
    return compiledLoss();
  ConstantEvaluator evaluator;
  bindValues(evaluator);
  double total = 0;
  for (auto [k, result] : llvm::enumerate(block.getTerminator()->getOperands())) {
    const HostTensor *tensor = evaluator.evaluate(result);
    if (!tensor) {
      error = fmt::format("result {} cannot be evaluated", k);
      return 0;
    }
    for (int64_t i = 0; isFloat(result) && i < tensor->elements(); ++i)
      total += weights[k][i] * tensor->floatAt(i);
  }
  return total;
}

void Check::accumulate(OpBuilder &builder, Value v, Value grad) {
  if (!grad)
    return;
  if (grad.getType() != v.getType())
    error = "a gradient differs in type from its operand";
  Value &sum = grads[v];
  sum = sum ? Value(onnx::AddOp::create(builder, v.getLoc(), sum, grad)) : grad;
}

/// Builds the gradients behind the function's ops. Seeds are bound later.
bool Check::differentiate() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  OpBuilder builder(block.getTerminator());
  for (Value result : block.getTerminator()->getOperands())
    if (isFloat(result)) {
      seeds.push_back(block.addArgument(result.getType(), result.getLoc()));
      accumulate(builder, result, seeds.back());
    } else {
      seeds.push_back(Value());
    }
  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Value> resultGrads, operandGrads;
    for (Value result : op->getResults())
      resultGrads.push_back(grads.lookup(result));
    if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable || failed(differentiable.buildGradient(builder, resultGrads, operandGrads)) ||
        operandGrads.size() != op->getNumOperands()) {
      error = "no gradient of " + op->getName().getStringRef().str();
      return false;
    }
    differentiated.insert(op->getName().getStringRef().str());
    for (auto [k, operand] : llvm::enumerate(op->getOperands()))
      accumulate(builder, operand, operandGrads[k]);
  }
  return error.empty();
}

std::string Check::compare(unsigned index) {
  Value argument = block.getArgument(index), grad = grads.lookup(argument);
  std::vector<double> found(values[index].size(), 0.0);
  if (grad && compiled) {
    loss();
    HostTensor tensor = compiled->output(std::to_string(gradientResult.at(index)));
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = tensor.floatAt(i);
  } else if (grad) {
    ConstantEvaluator evaluator;
    bindValues(evaluator);
    for (unsigned k = 0; k < seeds.size(); ++k)
      if (seeds[k])
        evaluator.bind(seeds[k], makeTensor(tensorType(seeds[k]), weights[k]));
    const HostTensor *tensor = evaluator.evaluate(grad);
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
    values.push_back(draw(argument));
  for (Value result : block.getTerminator()->getOperands()) {
    weights.emplace_back(elementCount(shapeOf(result)));
    for (double &weight : weights.back())
      weight = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  bool random = function->hasAttr("check.random");
  if (!random)
    loss();
  if (!error.empty() || !differentiate() || random)
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
    compile();
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
    covered.merge(check.differentiated);
  return difference;
}
