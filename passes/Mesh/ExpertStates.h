// The tensors of experts that the ranks along `expert` share out.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::mesh {

/// Parameters, frozen tensors and working copies [E, ...] of which every function reads but the slices of the
/// experts that were chosen: as matrices of grouped products, or as rows that are gathered.
class ExpertStates {
public:
  ExpertStates(mlir::ModuleOp module, dist::RankGroup group);

  /// Reports an error unless there are some that the ranks can share out, and a remark for experts that stay
  /// whole on every rank.
  mlir::LogicalResult check();
  llvm::ArrayRef<train::StateOp> cut() const { return states; }
  bool isCut(mlir::StringAttr state) const { return names.contains(state); }
  /// A rank's part of a tensor of experts.
  mlir::RankedTensorType partOf(mlir::Type whole) const;
  /// Makes the state that of this rank's experts.
  void cut(train::StateOp state) const;
  /// How many there are of those that `chosen`, ExpertRows::rootOf, names.
  int64_t expertsOf(mlir::Value chosen) const { return experts.lookup(chosen); }

private:
  void findChoices(mlir::func::FuncOp function);
  bool readsSlices(mlir::Value tensor, mlir::StringAttr owner, bool &any) const;
  mlir::StringAttr groupOf(train::StateOp state) const;

  mlir::ModuleOp module;
  dist::RankGroup group;
  llvm::DenseMap<mlir::Value, int64_t> experts;
  llvm::SmallVector<train::StateOp> states, whole;
  llvm::DenseSet<mlir::StringAttr> names;
};

} // namespace kedge::mesh
