#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Support/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::raise {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"
} // namespace kedge::raise
