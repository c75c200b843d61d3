// What the last pass over a row has computed and the outputs want again: kept aside in place of computing it
// twice.
#pragma once
#include "passes/Lower/Cpu/NestScalars.h"

namespace kedge::lower {

/// Scalars of short rows only: they lie on the stack, in the nearest cache.
class NestKept {
public:
  NestKept(ScalarOps &ops, const NestPosition &position, NestScalars &scalars)
      : ops(ops), position(position), scalars(scalars) {}

  /// Which scalars, if any. Room for them is made where the code stands: the function's first block.
  void choose();
  /// In the last pass that reduces: those at this place.
  void keep();
  /// In the pass of the outputs, before these are wanted, so that what the kept are computed from is not
  /// wanted for them.
  void want();
  void restore();

private:
  struct Kept {
    mlir::Value scalar, room;
  };
  ElementMemory memory() const;
  mlir::Value address(mlir::Value room, unsigned copy) const;

  ScalarOps &ops;
  const NestPosition &position;
  NestScalars &scalars;
  llvm::SmallVector<Kept> all;
};

} // namespace kedge::lower
