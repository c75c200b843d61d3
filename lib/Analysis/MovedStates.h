// What moving states to host memory saves and costs at least.
#pragma once
#include "lib/Analysis/DeviceModel.h"
#include "lib/Dialect/Train/StateOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::analysis {

/// What --offload calls states of this role: optimizer, gradients, params; "" for those that never move.
llvm::StringRef offloadKindOf(train::Role role);

/// One entry of --offload: "optimizer", or "optimizer=DIR".
struct OffloadEntry {
  llvm::StringRef kind;
  llvm::StringRef directory; ///< of the file that holds the states; empty: host memory does
};
OffloadEntry offloadEntry(llvm::StringRef text);

/// Where --offload puts a state; nothing: it stays on the device.
std::optional<OffloadEntry> offloadTarget(llvm::ArrayRef<std::string> entries, train::StateOp state);

struct MovedStates {
  int64_t bytes = 0;  ///< of the device that they leave, as persistentBytes counts them
  double seconds = 0; ///< of a step: each state that it updates comes once and goes once
};

/// Of a level-3 module whose states have not moved, for `entries` of --offload.
MovedStates movedStates(mlir::ModuleOp module, const std::vector<std::string> &entries,
                        const DeviceModel &device);

} // namespace kedge::analysis
