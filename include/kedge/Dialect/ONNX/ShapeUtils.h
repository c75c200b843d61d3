// Shape arithmetic for several ops. All shapes are static.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace kedge {

inline mlir::RankedTensorType tensorType(mlir::Value v) {
  return mlir::cast<mlir::RankedTensorType>(v.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) { return tensorType(v).getShape(); }
inline mlir::Type elementOf(mlir::Value v) { return tensorType(v).getElementType(); }
inline int64_t rankOf(mlir::Value v) { return tensorType(v).getRank(); }

/// The shape that all shapes broadcast to by numpy's rules. Reports an error at `location` and fails if there
/// is none.
mlir::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(std::optional<mlir::Location> location,
                                                            llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);
/// Result type of an elementwise op: the broadcast shape, with `element` or else operand 0's element type.
mlir::LogicalResult inferBroadcast(std::optional<mlir::Location> location, mlir::ValueRange operands,
                                   llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type element = {});
/// Turns an axis in [-rank, rank) into one in [0, rank). Reports an error and fails for any other.
mlir::FailureOr<int64_t> normalizeAxis(std::optional<mlir::Location> location, int64_t axis, int64_t rank);
/// Sorted, without duplicates, non-negative; an empty list stays empty.
mlir::FailureOr<llvm::SmallVector<int64_t>> normalizeAxes(std::optional<mlir::Location> location,
                                                          llvm::ArrayRef<int64_t> axes, int64_t rank);
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

} // namespace kedge
