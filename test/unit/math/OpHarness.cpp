#include "test/unit/math/OpHarness.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/InitAllDialects.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "test/support/CompiledFunction.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

Input kedge::test::vectorOf(std::vector<double> values) {
  int64_t size = values.size();
  return {{size}, std::move(values), {}};
}

OpHarness::OpHarness() : builder(&context) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

Type OpHarness::type(StringRef name) { return parseType(name, &context); }

static DenseElementsAttr attributeOf(const Input &input, Type element) {
  SmallVector<Attribute> values;
  for (double value : input.values)
    values.push_back(isa<FloatType>(element)
                         ? Attribute(FloatAttr::get(element, value))
                         : Attribute(IntegerAttr::get(element, static_cast<int64_t>(value))));
  return DenseElementsAttr::get(RankedTensorType::get(input.shape, element), values);
}

static std::vector<double> numbersOf(const interpret::HostTensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(isa<FloatType>(tensor.type.getElementType()) ? tensor.floatAt(i)
                                                                  : double(tensor.intAt(i)));
  return result;
}

/// A block with one argument an input, their values known to the evaluator.
struct OpHarness::Graph {
  Block block;
  OpBuilder builder;
  interpret::ConstantEvaluator evaluator;
  Location loc;

  Graph(OpHarness &harness, const std::vector<Input> &inputs)
      : builder(&harness.context), loc(UnknownLoc::get(&harness.context)) {
    builder.setInsertionPointToEnd(&block);
    for (const Input &input : inputs) {
      Type element = input.element ? input.element : Type(Float64Type::get(&harness.context));
      Value argument = block.addArgument(RankedTensorType::get(input.shape, element), loc);
      evaluator.bind(argument, interpret::HostTensor::fromAttribute(attributeOf(input, element)));
    }
  }

  std::vector<double> valuesOf(Value value) {
    const interpret::HostTensor *tensor = evaluator.evaluate(value);
    EXPECT_NE(tensor, nullptr) << "the interpreter has no value";
    return tensor ? numbersOf(*tensor) : std::vector<double>();
  }
};

static double weightOf(size_t index) { return std::sin(1.7 * index + 0.6) + 1.3; }

std::vector<double> OpHarness::run(const Build &build, const std::vector<Input> &inputs) {
  Graph graph(*this, inputs);
  return graph.valuesOf(build(graph.builder, graph.loc, graph.block.getArguments()));
}

double OpHarness::objective(const Build &build, const std::vector<Input> &inputs) {
  double total = 0;
  for (auto [i, value] : llvm::enumerate(run(build, inputs)))
    total += weightOf(i) * value;
  return total;
}

static SmallVector<Value> gradientsOf(OpBuilder &builder, Value result, Value grad) {
  Operation *op = result.getDefiningOp();
  SmallVector<Value> resultGrads(op->getNumResults()), operandGrads;
  resultGrads[cast<OpResult>(result).getResultNumber()] = grad;
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  EXPECT_TRUE(differentiable);
  if (differentiable) {
    EXPECT_TRUE(succeeded(differentiable.buildGradient(builder, resultGrads, operandGrads)));
  }
  EXPECT_EQ(operandGrads.size(), op->getNumOperands());
  return operandGrads;
}

std::vector<std::vector<double>> OpHarness::gradients(const Build &build, const std::vector<Input> &inputs) {
  Graph graph(*this, inputs);
  Value result = build(graph.builder, graph.loc, graph.block.getArguments());
  Value ones = splat(graph.builder, graph.loc, cast<RankedTensorType>(result.getType()), 1);
  std::vector<std::vector<double>> found;
  for (Value grad : gradientsOf(graph.builder, result, ones))
    found.push_back(grad ? graph.valuesOf(grad) : std::vector<double>());
  return found;
}

/// The block as a function of all its arguments that returns `results`; the block stays as it is.
static std::unique_ptr<CompiledFunction> compileBlock(MLIRContext &context, Block &block,
                                                      ArrayRef<Value> results) {
  OpBuilder builder(&context);
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> holder = ModuleOp::create(loc);
  builder.setInsertionPointToStart(holder->getBody());
  auto type = builder.getFunctionType(block.getArgumentTypes(), ValueRange(results).getTypes());
  auto function = func::FuncOp::create(builder, loc, "op", type);
  IRMapping mapping;
  Block *body = function.addEntryBlock();
  mapping.map(block.getArguments(), body->getArguments());
  builder.setInsertionPointToStart(body);
  for (Operation &op : block)
    builder.clone(op, mapping);
  SmallVector<Value> mapped;
  for (Value result : results)
    mapped.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, loc, mapped);
  return std::make_unique<CompiledFunction>(CompiledFunction::isolate(function));
}

/// Kernels on the CPU: result 0 is the op's, the others the gradients of `operands`.
void OpHarness::checkCompiledGradient(Block &block, Value result, ArrayRef<Value> grads, const Input &weights,
                                      const std::vector<Input> &inputs, const std::vector<size_t> &operands) {
  SmallVector<Value> results{result};
  for (size_t operand : operands)
    results.push_back(grads[operand]);
  auto program = compileBlock(context, block, results);
  auto set = [&](size_t index, const Input &input) {
    Type element = cast<RankedTensorType>(block.getArgument(index).getType()).getElementType();
    program->setInput(std::to_string(index),
                      interpret::HostTensor::fromAttribute(attributeOf(input, element)));
  };
  auto objectiveOf = [&](const std::vector<Input> &values) {
    for (auto [index, input] : llvm::enumerate(values))
      set(index, input);
    set(values.size(), weights);
    program->run();
    double total = 0;
    for (auto [i, value] : llvm::enumerate(numbersOf(program->output("0"))))
      total += weights.values[i] * value;
    return total;
  };
  for (auto [position, operand] : llvm::enumerate(operands)) {
    objectiveOf(inputs);
    std::vector<double> analytic = numbersOf(program->output(std::to_string(position + 1)));
    for (size_t i = 0; i < inputs[operand].values.size(); ++i) {
      const double step = 1e-5;
      std::vector<Input> moved = inputs;
      moved[operand].values[i] += step;
      double above = objectiveOf(moved);
      moved[operand].values[i] -= 2 * step;
      double slope = (above - objectiveOf(moved)) / (2 * step);
      EXPECT_NEAR(analytic.at(i), slope, 1e-6 * (1 + std::fabs(slope)))
          << "compiled, operand " << operand << " element " << i;
    }
  }
}

void OpHarness::checkGradient(const Build &build, const std::vector<Input> &inputs,
                              const std::vector<size_t> &constant) {
  Graph graph(*this, inputs);
  Value result = build(graph.builder, graph.loc, graph.block.getArguments());
  auto type = cast<RankedTensorType>(result.getType());
  Input weights{type.getShape().vec(), {}, {}};
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    weights.values.push_back(weightOf(i));
  Value grad = graph.block.addArgument(type, graph.loc);
  graph.evaluator.bind(grad,
                       interpret::HostTensor::fromAttribute(attributeOf(weights, type.getElementType())));
  SmallVector<Value> grads = gradientsOf(graph.builder, result, grad);
  for (auto [operand, input] : llvm::enumerate(inputs)) {
    if (llvm::is_contained(constant, operand))
      continue;
    ASSERT_TRUE(grads[operand]) << "operand " << operand << " has no gradient";
    EXPECT_EQ(grads[operand].getType(), graph.block.getArgument(operand).getType());
    std::vector<double> analytic = graph.valuesOf(grads[operand]);
    for (size_t i = 0; i < input.values.size(); ++i) {
      const double step = 1e-5;
      std::vector<Input> moved = inputs;
      moved[operand].values[i] += step;
      double above = objective(build, moved);
      moved[operand].values[i] -= 2 * step;
      double slope = (above - objective(build, moved)) / (2 * step);
      EXPECT_NEAR(analytic.at(i), slope, 1e-6 * (1 + std::fabs(slope)))
          << "operand " << operand << " element " << i;
    }
  }
  std::vector<size_t> moving;
  for (size_t operand = 0; operand < inputs.size(); ++operand)
    if (!llvm::is_contained(constant, operand))
      moving.push_back(operand);
  checkCompiledGradient(graph.block, result, grads, weights, inputs, moving);
}
