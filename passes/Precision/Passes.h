#pragma once
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "lib/Support/ExactDouble.h"
#include "lib/Support/LossSpec.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::precision {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"
} // namespace kedge::precision
