// What a cluster looks like to the emitter: linear accesses over simplified dims, and who depends on what.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>

namespace kedge::lower {

/// One tensor of the cluster: `offset` is the element's position as an affine expression of the nest's dims.
/// A linear one has it also as constant + sum of coefficients[d] * d.
struct Access {
  mlir::AffineExpr offset;
  mlir::Type element; ///< as in memory, signless; bool is i1
  bool linear = false;
  int64_t constant = 0;
  llvm::SmallVector<int64_t> coefficients;
  int64_t elements = 1; ///< of the whole tensor

  bool dependsOn(unsigned dim) const { return offset.isFunctionOfDim(dim); }
};

/// The cluster over simplified dims: dims of size 1 are gone, dims that maps take apart (floordiv, mod) are
/// split, neighbours that every access walks through as one are merged. Order is kept.
struct ClusterNest {
  sched::ClusterOp op;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<bool> reduced;
  llvm::SmallVector<bool> summed; ///< dims that sched.sum adds up over; empty where there is none
  llvm::SmallVector<Access> inputs, outputs;
  llvm::SmallVector<mlir::AffineExpr> index; ///< of each dim of the original domain

  /// Which dims a scalar of the body depends on; a reduction's result never on reduced ones.
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> dims;
  /// How many dependent reductions come before a scalar.
  llvm::DenseMap<mlir::Value, unsigned> phase;
  unsigned passes = 0; ///< number of passes that reduce
  /// Sums of exp(x - max x) that run in their maximum's pass, with that maximum; empty unless an emitter
  /// pairs them.
  llvm::DenseMap<mlir::Operation *, sched::ReduceOp> maximumOf;

  unsigned rank() const { return sizes.size(); }
  bool isPoint(const Access &access) const; ///< walks along a reduced dim
  /// What an output is the sum of, over all points of an element; null for any other output.
  sched::SumOp sumOf(unsigned output) const;
  /// The pass that a reduction runs in.
  unsigned passOf(sched::ReduceOp reduction) const { return phase.lookup(reduction.getResult()) - 1; }
  void findPhases(); ///< again, after a change of maximumOf
  bool has(mlir::Value v, unsigned dim) const { return dims.lookup(v).test(dim); }
  mlir::Block &body() const { return sched::ClusterOp(op).getBody().front(); }
  sched::YieldOp yield() const { return mlir::cast<sched::YieldOp>(body().getTerminator()); }
  /// An integer of the body as stride * (index of `dim`) + rest, where restDivisor divides the rest and rest
  /// does not depend on `dim`; nothing where that is not plain from the operations.
  struct Run {
    int64_t stride = 0;
    int64_t restDivisor = 0; ///< 0: the rest is zero
  };
  std::optional<Run> runOf(mlir::Value v, unsigned dim) const;
  /// Number of scalar operations for a rough idea of cost.
  int64_t bodySize() const;
  /// Of the body: sched.reduce ops.
  int64_t reductionCount() const;

  static mlir::FailureOr<ClusterNest> of(sched::ClusterOp op);
};

} // namespace kedge::lower
