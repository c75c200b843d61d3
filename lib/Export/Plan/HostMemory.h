// What a plan puts into host memory.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace kedge::exporter {

/// Transient buffers of the arena that hold a state for as long as a launch works on it, with that state:
/// what copies from or to a state in host memory read or write.
llvm::DenseMap<mlir::Operation *, train::StateOp> statesInTransit(exec::FunctionOp function);

/// Bytes of host memory that a program takes for what is offloaded; files are not.
int64_t hostBytes(mlir::ModuleOp module);

/// `host_bytes` and, with a host arena, `offload{state_bytes, value_bytes}` and what each function copies;
/// with files, `disk_bytes`, `offload.files` and what goes to them and comes back. `report` has its functions
/// already.
void addHostFacts(nlohmann::json &report, mlir::ModuleOp module);

} // namespace kedge::exporter
