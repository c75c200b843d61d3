// The walk over the scalars of a cluster's body: which are needed, which are known, which can be emitted
// here.
#pragma once
#include "passes/Lower/Cluster/ClusterNest.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "llvm/ADT/DenseSet.h"

namespace kedge::lower {

/// Each scalar is emitted at the first place that knows all it needs, and only when the current pass wants
/// it. An emitter says by the virtual functions where it stands and what only it can emit.
class BodyWalk {
public:
  /// Registers of one scalar: one, or one for each copy of a place that holds several.
  using Values = llvm::SmallVector<mlir::Value>;
  using Known = llvm::DenseMap<mlir::Value, Values>;
  using Wanted = llvm::DenseSet<mlir::Value>;

  BodyWalk(ScalarOps &ops, const ClusterNest &nest) : ops(ops), nest(nest) {}
  virtual ~BodyWalk() = default;

  /// Also all that it is computed from; what reductions give is wanted of the pass that reduces.
  void want(mlir::Value v);
  /// Outputs and what reductions take: all that a row reads.
  void wantAll();
  /// Emits what is wanted, not known yet, and known here to be computable.
  void emitAvailable();
  mlir::Value at(mlir::Value v, unsigned copy) const;

  Known known;
  Wanted wanted;

protected:
  /// Whether all indices that the scalar depends on are known here.
  virtual bool isEntered(mlir::Value v) const = 0;
  virtual Values load(unsigned input) = 0;
  virtual mlir::Value emitIndex(sched::IndexOp op, unsigned copy) = 0;
  /// All copies of a random number, where they come cheaper together; nothing elsewhere.
  virtual std::optional<Values> emitTogether(sched::RandomOp op) = 0;
  /// A copy of what an emitter has a shorter way for than by its operands; null elsewhere.
  virtual mlir::Value emitShorter(mlir::Operation &, unsigned /*copy*/) { return {}; }
  /// Registers of a scalar, and lanes of each.
  virtual unsigned copiesOf(mlir::Value v) const = 0;
  virtual unsigned lanesOf(mlir::Value v) const = 0;

  ScalarOps &ops;
  const ClusterNest &nest;

private:
  bool isReady(mlir::Operation &op) const;
  Values emitOp(mlir::Operation &op);
  mlir::Value emitCopy(mlir::Operation &op, unsigned copy);
};

} // namespace kedge::lower
