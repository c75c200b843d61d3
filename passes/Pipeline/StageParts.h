// Which part of a stage each op of @micro belongs to, and what the parts take.
#pragma once
#include "lib/Analysis/OpSeconds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Pipeline/Schedule.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::pipeline {

/// Reads the stages that kedge-assign-stages notes. Of the backward ops those are `Weights` that no op on
/// another rank waits for and whose results go into the gradient of one state alone. They are apart on the
/// ranks that ask for it; else they are `Backward`.
class StageParts {
public:
  StageParts(mlir::func::FuncOp micro, int64_t ranks, std::vector<bool> weightsApart);

  /// -1: each rank computes it for itself.
  static int64_t stageOf(mlir::Operation *op);
  /// Of an op with a stage.
  Part partOf(mlir::Operation *op) const;
  /// In the order of @micro; each with a stage.
  llvm::ArrayRef<mlir::Operation *> opsOf(int64_t stage, Part part) const;
  /// What each of `stages` takes and holds for a micro-batch.
  std::vector<StageWork> workOf(int64_t stages, analysis::OpSeconds &seconds);

private:
  int64_t rankOf(mlir::Operation *op) const { return stageOf(op) % ranks; }
  void noteBackward();
  void noteWeights();
  bool isAwaited(mlir::Operation *op) const;
  void addHeld(mlir::Value value, std::vector<StageWork> &work) const;

  mlir::func::FuncOp micro;
  int64_t ranks;
  std::vector<bool> weightsApart; ///< by rank
  llvm::DenseMap<mlir::Operation *, Part> parts;
  std::map<std::pair<int64_t, Part>, std::vector<mlir::Operation *>> ops;
};

} // namespace kedge::pipeline
