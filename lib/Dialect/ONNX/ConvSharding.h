// How convolutions are cut: by rows, by channels, or by groups of channels; windows by rows and channels.
#pragma once
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Interfaces/ShardingOpInterface.h"

namespace kedge::onnx {

/// The loops of a convolution or of one of its gradients, in this order; of several groups' input channels
/// none.
class ConvLoops {
public:
  enum Loop { Rows, Outputs, Inputs };

  /// Adds them to a rule. `w`: of the weight's shape; results are sums over `summed`, of groups only where
  /// that are rows.
  ConvLoops(ShardingRule &rule, mlir::Value x, mlir::Value w, int64_t groups, Loop summed);
  llvm::SmallVector<int> ofX(mlir::Value x) const { return dims(x, Rows, isGrouped ? Outputs : Inputs); }
  llvm::SmallVector<int> ofW(mlir::Value w) const {
    return dims(w, Outputs, isGrouped ? ShardingRule::kWhole : Inputs);
  }
  llvm::SmallVector<int> ofY(mlir::Value y) const { return dims(y, Rows, Outputs); }

private:
  bool isGrouped;
  static llvm::SmallVector<int> dims(mlir::Value tensor, int first, int second);
};

/// An op on blocks has a block's groups.
void setLocalGroups(LocalBuilder &local, mlir::Operation *made, int64_t groups);

/// Of an op with one result, whose tensors are all images.
ShardingRule windowRule(mlir::Operation *op);

void registerConvShardings(mlir::MLIRContext *context);

} // namespace kedge::onnx
