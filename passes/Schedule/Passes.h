#pragma once
#include "kedge/Support/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::schedule {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"
} // namespace kedge::schedule
