#pragma once
#include "lib/Dialect/Dist/DistDialect.h"
#include "lib/Dialect/Kedge/KedgeDialect.h"
#include "lib/Dialect/ONNX/ONNXDialect.h"
#include "lib/Dialect/Sched/SchedDialect.h"
#include "lib/Dialect/Train/TrainDialect.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"
#include "runtime/program/Mesh.h"

namespace kedge::partition {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"
} // namespace kedge::partition
