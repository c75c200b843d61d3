// The bytes that a program holds for its whole life.
#pragma once
#include "kedge/Dialect/Train/Bindings.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::analysis {

/// Where what keeps its content between functions lies, in the arena and in host memory. States come first, in the order
/// of the module, whether a function reads them or not.
class PersistentRegion {
public:
  explicit PersistentRegion(mlir::ModuleOp module);

  /// The offset of a state, a scalar or a result of `function`, at the end of its arena when it has none yet. States and
  /// scalars are the same in all functions.
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

/// Bytes of the persistent region that kedge-plan-memory makes from this level-3 module: states, scalars, results and
/// distinct constants, each rounded up to the arena's alignment. Without what lives in host memory.
int64_t persistentBytes(mlir::ModuleOp module);

/// Bytes of the states that live in host memory, rounded up alike.
int64_t hostStateBytes(mlir::ModuleOp module);

/// States that live in host memory: those whose train.state has the attribute `sched.host`.
llvm::DenseSet<mlir::StringAttr> hostStates(mlir::ModuleOp module);

} // namespace kedge::analysis
