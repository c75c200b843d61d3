#pragma once
#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "lib/Support/ExactDouble.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Autodiff/OptionWords.h"
#include "passes/Base/KedgePass.h"

namespace kedge::autodiff {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"
} // namespace kedge::autodiff
