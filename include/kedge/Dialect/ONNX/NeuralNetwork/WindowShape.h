// Result shapes of convolutions and pools: ops that move a window over spatial dims.
#pragma once
#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kedge {

/// One entry for each spatial dim; `pads` has the pads at all beginnings, then those at all ends.
struct Window {
  llvm::ArrayRef<int64_t> kernel, strides, pads, dilations;
};

/// Number of window positions along each spatial dim of `input` (without N and C). With `ceilMode` the last
/// window may reach beyond the padding at the end, but it must start inside the input or the padding before
/// it.
mlir::FailureOr<llvm::SmallVector<int64_t>> windowPlaces(std::optional<mlir::Location> loc,
                                                         llvm::ArrayRef<int64_t> input, const Window &window,
                                                         bool ceilMode = false);
/// The shape [N, M, positions...] for X [N, C, ...] and W [M, C / group, kernel...]; `window.kernel` is set
/// from W.
mlir::FailureOr<llvm::SmallVector<int64_t>> convolutionShape(std::optional<mlir::Location> loc, mlir::Value x,
                                                             mlir::Value w, Window window, int64_t group);
/// The shape [N, M, ...] for X [N, C, ...] and W [C, M / group, kernel...].
mlir::FailureOr<llvm::SmallVector<int64_t>> transposedShape(std::optional<mlir::Location> loc, mlir::Value x,
                                                            mlir::Value w, Window window,
                                                            llvm::ArrayRef<int64_t> outputPadding,
                                                            int64_t group);
/// Pads for ONNX's auto_pad. SAME_UPPER, SAME_LOWER: ceil(input / stride) window positions. VALID: no
/// padding.
llvm::SmallVector<int64_t> resolveAutoPad(llvm::StringRef autoPad, llvm::ArrayRef<int64_t> input,
                                          const Window &window);

} // namespace kedge
