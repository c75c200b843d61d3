// The collectives of a level-2 program, with the op that each belongs to.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// A row for each collective of the step, in order: phase, module, node, collective, axis, type, elements (an
/// all-reduce of n counts 2n, others n) and bytes.
nlohmann::json collectivesOf(mlir::ModuleOp level2);
/// A row for each forward op that has no rule by which it could be cut: node, module, op.
nlohmann::json opsWithoutRule(mlir::ModuleOp level2);

} // namespace kedge::driver
