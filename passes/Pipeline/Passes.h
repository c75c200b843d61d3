#pragma once
#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"
#include "passes/Pipeline/StageRule.h"

namespace kedge::pipeline {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Pipeline/Passes.h.inc"
} // namespace kedge::pipeline
