#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"

using namespace mlir;
using namespace kedge;

bool onnx::isMatmul(Operation *op) { return isa<MatMulOp, GemmOp>(op); }

llvm::DenseSet<Operation *> onnx::headsBefore(Operation *terminator) {
  llvm::DenseSet<Operation *> heads;
  SmallVector<Value> pending(terminator->getOperands());
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (isMatmul(op))
      heads.insert(op);
    else
      pending.append(op->operand_begin(), op->operand_end());
  }
  return heads;
}
