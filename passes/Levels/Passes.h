#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::levels {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Levels/Passes.h.inc"
} // namespace kedge::levels
