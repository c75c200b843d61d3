// What moving states to host memory saves and costs at least.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Offload.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::analysis {

/// Where --offload puts a state; nothing: it stays on the device.
std::optional<Offload> offloadTarget(llvm::ArrayRef<Offload> offloads, train::StateOp state);

struct MovedStates {
  int64_t bytes = 0;  ///< of the device that they leave, as persistentBytes counts them
  double seconds = 0; ///< of a step: each state that it updates comes once and goes once
};

/// Of a level-3 module whose states have not moved.
MovedStates movedStates(mlir::ModuleOp module, const std::vector<Offload> &offloads,
                        const DeviceModel &device);

} // namespace kedge::analysis
