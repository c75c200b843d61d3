#include "lib/Interpret/ConstantEvaluator.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/ViewOpInterface.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Interpret/InterpretCluster.h"
#include "lib/Support/AttrJson.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/io/Error.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::interpret;

namespace {
bool runCluster(Operation *op, ArrayRef<const HostTensor *> operands, std::vector<HostTensor> &results) {
  MLIRContext *context = op->getContext();
  context->loadDialect<sched::SchedDialect, arith::ArithDialect, math::MathDialect>();
  Block scratch;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&scratch);
  sched::ClusterOp cluster = buildCluster(builder, op, llvm::BitVector(op->getNumResults(), true));
  // buildCluster drops inputs that the body does not read.
  SmallVector<const HostTensor *> inputs;
  for (Value input : cluster.getInputs())
    inputs.push_back(operands[llvm::find(op->getOperands(), input) - op->operand_begin()]);
  return interpretCluster(cluster, inputs, results);
}

bool runLibrary(Operation *op, ArrayRef<const HostTensor *> operands, std::vector<HostTensor> &results) {
  std::string name = op->getName().getStringRef().str();
  if (!rt::calls::hasKernel(name))
    return false;
  MLIRContext *context = op->getContext();
  context->loadDialect<sched::SchedDialect>();
  Block scratch;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&scratch);
  rt::calls::LibraryCall call{name, toJson(buildLibraryCall(builder, op).getAttrs()), {}, {}};
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (const HostTensor *operand : operands) {
    call.inputs.push_back(analysis::tensorDescOf(operand->type));
    inputs.push_back(operand->bytes.data());
  }
  for (Type type : op->getResultTypes()) {
    call.outputs.push_back(analysis::tensorDescOf(type));
    results.push_back({cast<RankedTensorType>(type), std::vector<char>(call.outputs.back().bytes())});
  }
  for (HostTensor &result : results)
    outputs.push_back(result.bytes.data());
  try {
    auto kernel = rt::calls::makeKernel(call, 1);
    std::vector<char> workspace(kernel->workspaceBytes() + 64);
    auto aligned = (reinterpret_cast<uintptr_t>(workspace.data()) + 63) & ~uintptr_t(63);
    kernel->run(inputs.data(), outputs.data(), reinterpret_cast<void *>(aligned));
  } catch (const rt::RuntimeError &) {
    return false;
  }
  return true;
}
/// The op's decomposition, with the operands' values in place of what computes them.
bool runDecomposition(DecomposableOpInterface op, ArrayRef<const HostTensor *> operands,
                      std::vector<HostTensor> &results) {
  Block scratch;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  SmallVector<Value> values;
  if (failed(op.decompose(builder, values)))
    return false;
  ConstantEvaluator evaluator;
  for (auto [value, tensor] : llvm::zip(op->getOperands(), operands))
    evaluator.bind(value, *tensor);
  for (Value value : values) {
    const HostTensor *result = evaluator.evaluate(value);
    if (!result)
      return false;
    results.push_back(*result);
  }
  return true;
}
} // namespace

bool kedge::interpret::interpret(Operation *op, ArrayRef<const HostTensor *> operands,
                                 std::vector<HostTensor> &results) {
  if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
    results.push_back(HostTensor::fromAttribute(constant.getValue()));
    return true;
  }
  if (isa<ViewOpInterface>(op)) {
    results.push_back({cast<RankedTensorType>(op->getResult(0).getType()), operands[0]->bytes});
    return true;
  }
  if (auto decomposable = dyn_cast<DecomposableOpInterface>(op))
    return runDecomposition(decomposable, operands, results);
  if (isClusterable(op))
    return runCluster(op, operands, results);
  return runLibrary(op, operands, results);
}

void ConstantEvaluator::bind(Value value, HostTensor tensor) {
  refused.clear(); // what follows from the value may be known now
  known[value] = std::make_unique<HostTensor>(std::move(tensor));
}

bool ConstantEvaluator::evaluateOp(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
    return false;
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type) || saturatedCount(cast<RankedTensorType>(type).getShape()) > limit)
      return false;
  SmallVector<const HostTensor *> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand));
    if (!operands.back())
      return false;
  }
  std::vector<HostTensor> results;
  if (!interpret(op, operands, results))
    return false;
  for (auto [value, result] : llvm::zip(op->getResults(), results))
    known[value] = std::make_unique<HostTensor>(std::move(result));
  return true;
}

const HostTensor *ConstantEvaluator::evaluate(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second.get();
  Operation *op = value.getDefiningOp();
  if (!op || refused.contains(op))
    return nullptr;
  if (!evaluateOp(op)) {
    refused[op] = true;
    return nullptr;
  }
  return known.find(value)->second.get();
}
