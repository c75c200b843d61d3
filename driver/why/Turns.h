// A launch of level 4 as answers name it.
#pragma once
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// {"launch", "kernel", "phase", "module", "node"}, and "recomputed" where it runs again.
nlohmann::json turnJson(mlir::Operation *launch, int64_t at);
/// "4x32xf32"
std::string typeText(mlir::Type tensor);

} // namespace kedge::driver
