// The bytes that a program holds from its start to its end.
#pragma once
#include "kedge/Dialect/Train/Bindings.h"
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
  /// Those in files are the first of them.
  int64_t hostBytes() const { return host.bytes; }

  /// The part of host memory that a file holds.
  struct File {
    mlir::StringAttr directory;
    int64_t bytes = 0;
  };
  /// In the order of their bytes; one a directory.
  llvm::ArrayRef<File> files() const { return onDisk; }
  int64_t diskBytes() const;

private:
  struct Arena {
    llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, int64_t> offsets;
    int64_t bytes = 0;
  };
  llvm::DenseSet<mlir::StringAttr> onHost;
  Arena device, host;
  llvm::SmallVector<File> onDisk;
  int64_t alignment;
};

/// The size of the persistent region that kedge-plan-memory makes of this level-3 module: states, scalars,
/// results and distinct constants, each rounded up to the arena's alignment. Host memory is not counted.
int64_t persistentBytes(mlir::ModuleOp module);

/// Host memory that copies to and from files go through; 0: no state is in a file.
int64_t diskStagingBytes(mlir::ModuleOp module);

/// The bytes of host memory that states take, each rounded up in the same way. Of those in files it is what
/// they go through, where that memory is not the device's own.
int64_t hostStateBytes(mlir::ModuleOp module);

/// States that live in host memory: those whose train.state has the attribute `sched.host`.
llvm::DenseSet<mlir::StringAttr> hostStates(mlir::ModuleOp module);

} // namespace kedge::analysis
