// Bytes that live at one launch of a function, by kind.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace kedge::exporter {

/// Of transient buffers at a launch. Parameters and optimizer: states that live in host memory and are here
/// for a while. `live`: all of them; `height`: how high the function's buffers reach.
struct TransientBytes {
  int64_t gradients = 0, workspace = 0, communication = 0, parameters = 0, optimizer = 0, live = 0,
          height = 0;
};

/// Whether the buffer lies in the arena behind its `persistentBytes`.
bool isTransient(exec::BufferOp buffer, int64_t persistentBytes);

/// At the launch where most bytes live.
TransientBytes fullestLaunch(exec::FunctionOp function, int64_t persistentBytes);

/// What is in use at the first launch that writes a parameter or a state of the optimizer: where all
/// gradients are there, if anything waits for them. None in a function without an update.
std::optional<TransientBytes> atUpdate(mlir::ModuleOp module, exec::FunctionOp function,
                                       int64_t persistentBytes);

} // namespace kedge::exporter
