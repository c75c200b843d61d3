// The bytes that a program holds from its start to its end.
#pragma once
#include "lib/Dialect/Train/Bindings.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::analysis {

/// Assigns places to everything that keeps its content between functions, in the arena and in
/// host memory. States come first, in the order of the module, even if no function reads them.
class PersistentRegion {
public:
  explicit PersistentRegion(mlir::ModuleOp module);

  /// The offset of a state, a scalar or a result of `function`. One that has no place yet
  /// gets the end of its arena. States and scalars have the same place in all functions.
  int64_t place(train::BindingAttr what, mlir::StringAttr function, mlir::Type type);
  bool isOnHost(train::BindingAttr what) const;
  int64_t bytes() const { return device.bytes; }
  int64_t hostBytes() const { return host.bytes; }

private:
  struct Arena {
    llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, int64_t> offsets;
    int64_t bytes = 0;
  };
  llvm::DenseSet<mlir::StringAttr> onHost;
  Arena device, host;
  int64_t alignment;
};

/// The size of the persistent region that kedge-plan-memory makes of this level-3 module: states, scalars,
/// results and distinct constants, each rounded up to the arena's alignment. Host memory is not counted.
int64_t persistentBytes(mlir::ModuleOp module);

/// The bytes of states that live in host memory, each rounded up in the same way.
int64_t hostStateBytes(mlir::ModuleOp module);

/// States that live in host memory: those whose train.state has the attribute `sched.host`.
llvm::DenseSet<mlir::StringAttr> hostStates(mlir::ModuleOp module);

} // namespace kedge::analysis
