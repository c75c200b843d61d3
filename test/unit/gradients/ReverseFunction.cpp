#include "test/unit/gradients/ReverseFunction.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"

using namespace mlir;

namespace kedge::test {

void ReverseFunction::accumulate(OpBuilder &builder, Value value, Value gradient) {
  if (!gradient)
    return;
  if (gradient.getType() != value.getType())
    error = "a gradient differs in type from its operand";
  Value &sum = gradients[value];
  sum = sum ? Value(onnx::AddOp::create(builder, value.getLoc(), sum, gradient)) : gradient;
}

std::string ReverseFunction::differentiate(OpBuilder &builder, Operation *op) {
  SmallVector<Value> resultGradients, operandGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
    return "";
  if (op->getNumOperands() == 0) // a constant of a decomposition
    return "";
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable || failed(differentiable.buildGradient(builder, resultGradients, operandGradients)) ||
      operandGradients.size() != op->getNumOperands())
    return "no gradient of " + op->getName().getStringRef().str();
  names.insert(op->getName().getStringRef().str());
  for (auto [k, operand] : llvm::enumerate(op->getOperands()))
    accumulate(builder, operand, operandGradients[k]);
  return error;
}

/// Ops without a gradient of their own have those of what they are made of.
static void decomposeOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto composite = dyn_cast<DecomposableOpInterface>(op);
    if (!composite || isa<DifferentiableOpInterface>(op))
      continue;
    OpBuilder builder(&op);
    SmallVector<Value> results;
    if (succeeded(composite.decompose(builder, results))) {
      op.replaceAllUsesWith(results);
      op.erase();
    }
  }
}

std::string ReverseFunction::build() {
  decomposeOps(block);
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  OpBuilder builder(block.getTerminator());
  for (Value result : block.getTerminator()->getOperands()) {
    bool isFloat = isa<FloatType>(elementOf(result));
    seedArguments.push_back(isFloat ? block.addArgument(result.getType(), result.getLoc()) : Value());
    accumulate(builder, result, seedArguments.back());
  }
  for (Operation *op : llvm::reverse(ops))
    if (std::string problem = differentiate(builder, op); !problem.empty())
      return problem;
  return error;
}

std::unique_ptr<CompiledFunction> ReverseFunction::compile() {
  Operation *terminator = block.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  const size_t count = results.size();
  for (BlockArgument argument : block.getArguments())
    if (Value found = gradient(argument)) {
      outputs[argument.getArgNumber()] = results.size();
      results.push_back(found);
    }
  terminator->setOperands(results);
  auto compiled = std::make_unique<CompiledFunction>(CompiledFunction::isolate(function));
  terminator->setOperands(ArrayRef<Value>(results).take_front(count));
  return compiled;
}

} // namespace kedge::test
