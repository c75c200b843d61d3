// Frequencies of rotary embeddings: small parameters that are read for nothing but angles.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::precision {

/// Finds the arguments whose every use ends in a sine or cosine of positions and frequencies alone: 16 bits
/// would turn position 4000 by whole radians. A file that labels its tensors calls them buffers; others
/// cannot.
class Angles {
public:
  explicit Angles(mlir::func::FuncOp model) : model(model) {}
  bool areFrequencies(mlir::BlockArgument argument);

private:
  bool onlyTurns(mlir::Value value);
  bool endsInAngle(mlir::Operation *op);
  bool isSteady(mlir::Value value);
  bool isSteadyArgument(mlir::BlockArgument argument);

  mlir::func::FuncOp model;
  llvm::DenseMap<mlir::Value, bool> steady, turning;
};

} // namespace kedge::precision
