// Which numbers of the generator an element of a random tensor takes.
#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace kedge::train {

/// How rows of the batch lie in a tensor (Train/ElementwiseOps.td): rows along dim `axis`, `rowSize` places
/// of it each; -1: all elements are of one row.
struct RandomRows {
  llvm::ArrayRef<int64_t> shape;
  int64_t axis = 0, rowSize = 1;

  /// Which row of the batch the point is of, and its row-major number within the row; both i64.
  std::pair<mlir::Value, mlir::Value> placeOf(ClusterBodyBuilder &body, mlir::Value rowBase) const;
};

mlir::LogicalResult checkRows(std::optional<mlir::Location> location, mlir::RankedTensorType type,
                              int64_t axis, int64_t rowSize);

} // namespace kedge::train
