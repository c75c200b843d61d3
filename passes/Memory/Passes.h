#pragma once
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::memory {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"
} // namespace kedge::memory
