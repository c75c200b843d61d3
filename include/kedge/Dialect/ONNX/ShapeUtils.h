// Shape arithmetic that ops share. Shapes are static.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace kedge {

inline mlir::RankedTensorType tensorType(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) { return tensorType(v).getShape(); }
inline mlir::Type elementOf(mlir::Value v) { return tensorType(v).getElementType(); }
inline int64_t rankOf(mlir::Value v) { return tensorType(v).getRank(); }

/// numpy broadcasting of all shapes; reports at `location` and fails when they do not fit.
mlir::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(std::optional<mlir::Location> location,
                                                            llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);
/// Result type of an elementwise op: the broadcast shape with `element` (default: operand 0's element type).
mlir::LogicalResult inferBroadcast(std::optional<mlir::Location> location, mlir::ValueRange operands,
                                   llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type element = {});
/// Axis in [-rank, rank) -> [0, rank); reports and fails otherwise.
mlir::FailureOr<int64_t> normalizeAxis(std::optional<mlir::Location> location, int64_t axis, int64_t rank);
/// Sorted, unique, non-negative axes; empty input stays empty.
mlir::FailureOr<llvm::SmallVector<int64_t>> normalizeAxes(std::optional<mlir::Location> location,
                                                          llvm::ArrayRef<int64_t> axes, int64_t rank);
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

} // namespace kedge
