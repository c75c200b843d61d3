#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"

using namespace mlir;
using namespace kedge;

bool onnx::isMatmul(Operation *op) { return isa<MatMulOp, GemmOp>(op); }

static onnx::MatrixUse useOf(Value matrix, bool isTransposed) {
  for (OpOperand &use : matrix.getUses()) {
    Operation *reader = use.getOwner();
    if (auto transpose = dyn_cast<onnx::TransposeOp>(reader))
      return useOf(transpose.getResult(), !isTransposed);
    if (!onnx::isMatmul(reader) || use.getOperandNumber() != 1)
      continue;
    auto turned = reader->getAttrOfType<BoolAttr>("transB");
    return {reader, (turned && turned.getValue()) != isTransposed ? 0 : 1};
  }
  return {};
}

onnx::MatrixUse onnx::matrixUse(Value matrix) { return useOf(matrix, false); }

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
