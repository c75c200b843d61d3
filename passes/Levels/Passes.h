#pragma once
#include "mlir/Pass/Pass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::levels {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Levels/Passes.h.inc"
} // namespace kedge::levels
