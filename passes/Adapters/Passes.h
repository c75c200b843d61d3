#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "lib/Support/ExactDouble.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Adapters/FakeQuantizeRule.h"
#include "passes/Adapters/NumberRule.h"
#include "passes/Adapters/OptionWords.h"
#include "passes/Adapters/QuantizeRule.h"
#include "passes/Adapters/TokenRule.h"
#include "passes/Base/KedgePass.h"

namespace kedge::adapters {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Adapters/Passes.h.inc"
} // namespace kedge::adapters
