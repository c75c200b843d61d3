#pragma once
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "lib/Support/Offload.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"

namespace kedge::offload {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Offload/Passes.h.inc"
} // namespace kedge::offload
