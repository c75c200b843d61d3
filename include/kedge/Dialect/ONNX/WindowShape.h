// Sizes of what slides a window over spatial dims: convolutions and pools.
#pragma once
#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kedge {

/// One entry a spatial dim; `pads` has all begins, then all ends.
struct Window {
  llvm::ArrayRef<int64_t> kernel, strides, pads, dilations;
};

/// Places of the window along each spatial dim of `input` (without N and C). With `ceilMode` the last place
/// may reach beyond the end pad, but must start inside input or begin pad.
mlir::FailureOr<llvm::SmallVector<int64_t>> windowPlaces(std::optional<mlir::Location> loc,
                                                         llvm::ArrayRef<int64_t> input, const Window &window,
                                                         bool ceilMode = false);
/// [N, M, places...] of X [N, C, ...] and W [M, C / group, kernel...]; `window.kernel` is taken from W.
mlir::FailureOr<llvm::SmallVector<int64_t>> convolutionShape(std::optional<mlir::Location> loc, mlir::Value x,
                                                             mlir::Value w, Window window, int64_t group);
/// [N, M, ...] of X [N, C, ...] and W [C, M / group, kernel...].
mlir::FailureOr<llvm::SmallVector<int64_t>> transposedShape(std::optional<mlir::Location> loc, mlir::Value x,
                                                            mlir::Value w, Window window,
                                                            llvm::ArrayRef<int64_t> outputPadding,
                                                            int64_t group);
/// ONNX's auto_pad (SAME_UPPER, SAME_LOWER: as many places as ceil(input / stride); VALID: none) as pads.
llvm::SmallVector<int64_t> resolveAutoPad(llvm::StringRef autoPad, llvm::ArrayRef<int64_t> input,
                                          const Window &window);

} // namespace kedge
