#pragma once
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"
#include "passes/Rematerialize/OptionWords.h"
#include "passes/Rematerialize/Policy.h"

namespace kedge::remat {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Rematerialize/Passes.h.inc"
} // namespace kedge::remat
