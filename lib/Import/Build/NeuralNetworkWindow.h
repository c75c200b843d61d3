// Windows of convolutions and pools as nodes give them.
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {

/// One entry a spatial dimension; `pads` has all begins, then all ends.
struct ImportedWindow {
  llvm::SmallVector<int64_t> kernel, strides, pads, dilations;
};

/// kernel_shape (or `kernel`), strides, dilations, pads with ONNX's defaults; auto_pad becomes pads unless
/// `resolveAuto` is false.
ImportedWindow importWindow(NodeContext &c, mlir::Value x, llvm::ArrayRef<int64_t> kernel,
                            bool resolveAuto = true);

void registerPoolImporters(NodeImporters &importers);

} // namespace kedge::importer
