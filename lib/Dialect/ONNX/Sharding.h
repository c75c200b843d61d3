// Rules by which ops of the dialect are cut over ranks (ShardingOpInterface).
#pragma once
#include "kedge/Interfaces/Sharding.h"
#include "mlir/IR/MLIRContext.h"

namespace kedge::onnx {
/// Of matrices: rows in several dims, columns, and what is summed. `batches`: B has leading dims, too.
ShardingRule productRule(mlir::Value a, mlir::Value b, mlir::Value y, bool transA, bool transB, bool batches);
/// Loops of a value's dims, which broadcast from the last dim on: `loops` are those of the result's.
llvm::SmallVector<int> broadcastDims(mlir::Value value, mlir::Value result, llvm::ArrayRef<int> loops);
void registerShardings(mlir::MLIRContext *context);
} // namespace kedge::onnx
