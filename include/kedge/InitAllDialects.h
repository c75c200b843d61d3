// Registers all dialects of the compiler.
#pragma once
#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Dialect/Tune/TuneDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"

namespace kedge {
inline void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<KedgeDialect, onnx::ONNXDialect, dist::DistDialect, train::TrainDialect, tune::TuneDialect,
                  sched::SchedDialect, exec::ExecDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect>();
}
} // namespace kedge
