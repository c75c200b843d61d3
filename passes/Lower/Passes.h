#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"
#include "passes/Lower/OptionWords.h"

namespace kedge::lower {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"
} // namespace kedge::lower
