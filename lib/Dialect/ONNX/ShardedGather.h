// Indices into a table whose rows are cut over ranks.
#pragma once
#include "kedge/Interfaces/Sharding.h"

namespace kedge::onnx {

/// Indices of a rank's own block, and which of them are its own; others stand at its first row.
struct OwnIndices {
  mlir::Value indices, isOwn;

  /// `rows`: of the whole table; negative indices count from its end.
  OwnIndices(LocalBuilder &local, mlir::Value given, int64_t rows);
};

/// x where the condition holds, zero elsewhere.
mlir::Value orZero(LocalBuilder &local, mlir::Value condition, mlir::Value x);
/// One number, in the type of a value's elements.
mlir::Value number(LocalBuilder &local, mlir::Type element, int64_t value);
/// `values` with dimensions of size 1 behind theirs.
mlir::Value withTrailingDims(LocalBuilder &local, mlir::Value values, int64_t count);

} // namespace kedge::onnx
