// The loops of one kernel.
#pragma once
#include "passes/Lower/Cpu/LoopPlan.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::lower {

/// Elements [base, base + (copies - 1) * width + lastLanes) of the dim in lanes.
struct LaneStep {
  mlir::Value base; ///< i64
  unsigned copies = 1;
  unsigned lastLanes = 1;
};

/// Emits the body of a kernel function: loops over parallel dims, passes over reduced ones, stores. A scalar
/// of the cluster becomes one register value, or `copies` vectors where it varies along the lanes; it is
/// computed at the outermost loop that knows all it needs.
class NestEmitter {
public:
  NestEmitter(mlir::OpBuilder &builder, mlir::Location loc, ClusterNest &nest, const LoopPlan &plan,
              mlir::ValueRange pointers)
      : b(builder), loc(loc), nest(nest), plan(plan), pointers(pointers), ops(builder, loc),
        indices(nest.rank()), entered(nest.rank()) {}

  /// All iterations from `begin` to `end`.
  void emit(mlir::Value begin, mlir::Value end);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  using Environment = llvm::DenseMap<mlir::Value, Values>;
  /// Takes and returns accumulators.
  using Leaf = llvm::function_ref<Values(Values)>;

  // Loops (NestLoops.cpp)
  Values loop(mlir::Value from, mlir::Value to, int64_t step, Values accumulators,
              llvm::function_ref<Values(mlir::Value, Values)> body);
  /// A loop of `count` steps from `from`; long ones in chunks with accumulators of their own.
  Values chunkedLoop(mlir::Value from, int64_t count, int64_t step, Values accumulators,
                     llvm::function_ref<Values(mlir::Value, Values)> body);
  void parallelLoops(unsigned level);
  void enterParallel(unsigned level, mlir::Value index);
  void laneBlock(mlir::Value start, int64_t count);
  /// Elements [start, start + count) of the tile dim, in the current step.
  void tile(mlir::Value start, unsigned count);
  Values laneSteps(mlir::Value start, int64_t count, Values accumulators, Leaf leaf);
  Values inStep(const LaneStep &step, Values accumulators, Leaf leaf);
  Values reducedLoops(unsigned level, Values accumulators, Leaf leaf);
  int64_t stepsBelow(unsigned level) const;

  // One row: what lies between the parallel loops (NestEmitter.cpp)
  void row();
  void foldPass(unsigned pass);
  void pointPass();
  Values combine(const Values &a, const Values &b);
  Values identities();
  unsigned slotsOf(sched::ReduceOp fold) const; ///< accumulators of a fold
  mlir::Value horizontal(sched::FoldKind kind, mlir::ArrayRef<mlir::Value> partials);
  Values accumulate(Values accumulators);

  // Scalars of the body
  void emitAvailable();
  bool isReady(mlir::Operation &op) const;
  unsigned copiesOf(mlir::Value v) const { return nest.has(v, plan.lanesDim) ? step.copies : 1; }
  unsigned widthFor(mlir::Value v) const { return nest.has(v, plan.lanesDim) ? plan.width : 1; }
  void emitOp(mlir::Operation &op);
  bool emitRandomRun(sched::RandomOp random);
  mlir::Value at(mlir::Value v, unsigned copy) const;
  void want(mlir::Value v);

  // Memory (NestAccess.cpp)
  /// `count` vectors of an input, one for each element of the tile dim from the current one on.
  Values loadTransposed(const Access &access, mlir::Value pointer, unsigned count);
  Values transpose(Values rows);
  Values load(unsigned input);
  void store(unsigned output);
  bool variesByLane(mlir::AffineExpr e) const { return e.isFunctionOfDim(plan.lanesDim); }
  mlir::Value laneIndex(unsigned copy, unsigned bits);
  mlir::Value expand(mlir::AffineExpr e, unsigned copy, unsigned bits, bool byLane);
  mlir::Value scalarOffset(const Access &access, int64_t extra);
  mlir::Value address(mlir::Value pointer, const Access &access, mlir::Value offset);
  mlir::Value addresses(mlir::Value pointer, const Access &access, unsigned copy);
  mlir::Value mask(unsigned copy);
  mlir::Value leadingLanes(unsigned count);
  bool isMasked(unsigned copy) const { return copy + 1 == step.copies && step.lastLanes < plan.width; }
  mlir::Type memoryType(const Access &access) const;
  mlir::Value fromMemory(mlir::Value value, const Access &access);
  mlir::Value toMemory(mlir::Value value, const Access &access);
  mlir::Value number(int64_t value) { return ops.intConstant(64, value, 1); }

  mlir::OpBuilder &b;
  mlir::Location loc;
  ClusterNest &nest;
  const LoopPlan &plan;
  mlir::ValueRange pointers;
  ScalarOps ops;

  llvm::SmallVector<mlir::Value> indices; ///< of entered dims; of the one in lanes: step.base
  llvm::SmallBitVector entered;
  LaneStep step;
  Environment env;
  llvm::DenseSet<mlir::Value> wanted; ///< scalars that the current pass needs
  llvm::MapVector<mlir::Value, Values> transposed; ///< of the current tile
  llvm::SmallVector<sched::ReduceOp> folds; ///< of the current pass
};

} // namespace kedge::lower
