// The tensors of experts that the ranks along `expert` share out.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Mesh/Experts/ExpertDim.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::mesh {

/// Parameters, frozen tensors and working copies of which every function reads but the slices of the experts
/// that were chosen: what matrices of grouped products, or rows that are gathered, are made of (themselves,
/// factors of adapters, codes in few bits).
class ExpertStates {
public:
  ExpertStates(mlir::ModuleOp module, dist::RankGroup group);

  /// Reports an error unless there are some that the ranks can share out, and a remark for experts that stay
  /// whole on every rank.
  mlir::LogicalResult check();
  llvm::ArrayRef<train::StateOp> cut() const { return states; }
  /// Where experts are in a state; null: it is whole on every rank.
  const ExpertDim *dimOf(mlir::StringAttr state) const;
  /// The same of a value that follows from states alone.
  const ExpertDim *dimOf(mlir::Value value) const;
  /// Makes the state that of this rank's experts.
  void cut(train::StateOp state) const;
  /// How many there are of those that `chosen`, ExpertRows::rootOf, names.
  int64_t expertsOf(mlir::Value chosen) const { return experts.lookup(chosen); }

private:
  /// What the matrices of a product are made of.
  struct Chain {
    llvm::SmallVector<mlir::Value> values;
    bool whole = false; ///< ranks need all of it
  };

  void findChoices(mlir::func::FuncOp function);
  void findChains(mlir::func::FuncOp function);
  void follow(mlir::Value value, ExpertDim at, Chain &chain);
  void findStates();
  void settle();
  bool isReadInParts(mlir::Value value, mlir::StringAttr owner);
  bool isRead(mlir::OpOperand &use, mlir::StringAttr owner);
  /// The state that an argument is, or whose working copy it is; null: of none.
  mlir::StringAttr ownerOf(mlir::Value value) const;
  mlir::StringAttr groupOf(train::StateOp state) const;

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  dist::RankGroup group;
  llvm::DenseMap<mlir::Value, int64_t> experts;
  llvm::SmallVector<Chain> chains;
  llvm::DenseMap<mlir::Value, ExpertDim> dims;
  llvm::DenseMap<mlir::StringAttr, ExpertDim> owners; ///< by groupOf
  llvm::DenseSet<mlir::StringAttr> whole;             ///< of those
  llvm::SmallVector<train::StateOp> states;
};

} // namespace kedge::mesh
