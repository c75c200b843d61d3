// Rules by which ops of the dialect are cut over ranks (ShardingOpInterface).
#pragma once
#include "mlir/IR/MLIRContext.h"

namespace kedge::train {
void registerShardings(mlir::MLIRContext *context);
void registerConvGradShardings(mlir::MLIRContext *context);
void registerFloat8Shardings(mlir::MLIRContext *context);
} // namespace kedge::train
