// How ops on images are cut: convolutions by rows, by channels, or by groups of channels; windows and
// resampling by rows and channels; group norms by whole groups.
#pragma once
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ShardingOpInterface.h"

namespace kedge::onnx {

/// The loops of a convolution or of one of its gradients, in this order; of several groups' input channels
/// none.
class ConvLoops {
public:
  enum Loop { Rows, Outputs, Inputs };

  /// Adds them to a rule. `w`: of the weight's shape, whose first dimension are the input channels where
  /// the convolution `isTransposed`; results are sums over `summed`, of groups only where that are rows.
  ConvLoops(ShardingRule &rule, mlir::Value x, mlir::Value w, int64_t groups, Loop summed,
            bool isTransposed = false);
  llvm::SmallVector<int> ofX(mlir::Value x) const { return dims(x, Rows, isGrouped ? Outputs : Inputs); }
  llvm::SmallVector<int> ofW(mlir::Value w) const {
    if (isGrouped)
      return dims(w, Outputs, ShardingRule::kWhole);
    return isTransposed ? dims(w, Inputs, Outputs) : dims(w, Outputs, Inputs);
  }
  llvm::SmallVector<int> ofY(mlir::Value y) const { return dims(y, Rows, Outputs); }

private:
  bool isGrouped, isTransposed;
  static llvm::SmallVector<int> dims(mlir::Value tensor, int first, int second);
};

/// An op on blocks has a block's groups.
void setLocalGroups(LocalBuilder &local, mlir::Operation *made, int64_t groups);

/// Of an op with one result, whose tensors are all images.
ShardingRule windowRule(mlir::Operation *op);
/// Of onnx.Resize or its gradient: along dimensions that keep their size.
ShardingRule resamplingRule(mlir::Operation *op);

void registerConvShardings(mlir::MLIRContext *context);
void registerChannelShardings(mlir::MLIRContext *context);

} // namespace kedge::onnx
