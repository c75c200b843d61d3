// The body of a GPU kernel: what one thread does.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Gpu/GpuPlan.h"
#include "passes/Lower/Cluster/ScalarOps.h"

namespace kedge::lower::gpu {

/// Emits the code of a thread: its group, its share of the group's units in passes that fold, the team's join of
/// each fold, the stores. A scalar of the cluster becomes one register value, or one for each unit that the
/// thread holds (a slot); a value that varies along the lanes has `width` of them.
class ThreadEmitter {
public:
  /// The kernel's arguments are the nest's inputs, then its outputs.
  ThreadEmitter(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, ClusterNest &nest, const GpuPlan &plan);
  void emit();

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Takes accumulators and gives them.
  using Leaf = llvm::function_ref<Values(Values)>;
  /// A unit in hand. `valid` is null where the unit is known to exist; others are clamped to the last unit, so
  /// that loads stay inside, and must neither be folded nor stored.
  struct Slot {
    Values indices; ///< by dim
    mlir::Value valid;
  };

  // Who am I (ThreadEmitter.cpp)
  void readPosition();
  void enterGroup();
  void decompose(mlir::Value position, mlir::ArrayRef<unsigned> dims, Values &indices);
  mlir::Value threadId(mlir::gpu::Dimension dim);
  mlir::Value blockId(mlir::gpu::Dimension dim);
  void group();

  // Tiles (ThreadTile.cpp)
  void tileGroup();
  void enterTile();
  void loadTile(unsigned input);

  // Passes
  void foldPass(unsigned pass);
  void collectFolds(unsigned pass);
  Values foldUnits();
  void pointPass();
  void storeRows();
  void guarded(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value both(mlir::Value a, mlir::Value b);

  // Units (ThreadUnits.cpp)
  void enterSlots(mlir::Value first, int64_t count, int64_t known);
  void leaveSlots();
  Values overUnits(Values accumulators, Leaf leaf);
  Values unitLoop(mlir::Value from, mlir::Value to, bool masked, Values accumulators, Leaf leaf);

  // Folds (TeamFolds.cpp)
  unsigned lanesOfFold(sched::ReduceOp fold) const;
  mlir::Value foldedOfSlot(sched::ReduceOp fold, unsigned slot);
  mlir::Value tree(sched::FoldKind kind, Values values);
  mlir::Value horizontal(sched::FoldKind kind, mlir::Value vector);
  mlir::Value ofThread(sched::ReduceOp fold, Values values);
  void joinTeam(Values &results);
  void joinWarps(Values &results);
  void joinRows(Values &results);
  mlir::Value shuffle(mlir::Value value, unsigned distance);
  mlir::Value joinLanes(sched::FoldKind kind, mlir::Value value, unsigned threads);
  mlir::Value sharedAddress(mlir::Value base, mlir::Value position, mlir::Type type);
  // Maxima with the sums beside them (OnlineSums.cpp)
  void accumulatePair(sched::ReduceOp sum, mlir::Value &maximum, mlir::MutableArrayRef<mlir::Value> sums);
  void joinPairs(mlir::ArrayRef<mlir::Value> maxima, Values results);

  // Scalars of the body
  void want(mlir::Value v);
  bool isReady(mlir::Operation &op) const;
  bool isEntered(mlir::Value v) const;
  void emitAvailable();
  void emitOp(mlir::Operation &op);
  bool emitRandomBlock(sched::RandomOp random);
  bool variesBySlot(mlir::Value v) const;
  unsigned copiesOf(mlir::Value v) const { return variesBySlot(v) ? slots.size() : 1; }
  unsigned widthOf(mlir::Value v) const { return nest.has(v, plan.lanesDim) ? plan.width : 1; }
  mlir::Value at(mlir::Value v, unsigned copy) const;

  // Memory (ThreadAccess.cpp)
  const Values &indicesOf(unsigned copy) const { return slots.empty() ? groupIndices : slots[copy].indices; }
  mlir::Value expand(mlir::AffineExpr e, const Values &indices, unsigned lane);
  mlir::Value offset(const Access &access, const Values &indices, unsigned lane);
  mlir::Value address(mlir::Value pointer, const Access &access, mlir::Value offset);
  void load(unsigned input);
  void store(unsigned output, unsigned copy);
  mlir::Type memoryType(mlir::Type element) const;
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value toMemory(mlir::Value value, mlir::Type element);
  unsigned alignmentOf(const Access &access, unsigned lanes) const;
  mlir::Value lanes(llvm::function_ref<mlir::Value(unsigned)> make);

  mlir::Value number(int64_t value) { return ops.intConstant(plan.wideIndex ? 64 : 32, value, 1); }
  mlir::Type indexType() { return b.getIntegerType(plan.wideIndex ? 64 : 32); }

  mlir::OpBuilder &b;
  mlir::gpu::GPUFuncOp kernel;
  mlir::Location loc;
  ClusterNest &nest;
  const GpuPlan &plan;
  ScalarOps ops;

  mlir::Value groupNumber, rank, begin; ///< this thread's group, place in its team, first unit of its block
  mlir::Value team, column;             ///< place of the team in the block; of the thread across the fold
  mlir::Value groupValid;               ///< null: always
  Values groupIndices;                  ///< of parallel dims, by dim
  mlir::Value tileFirst, tileRow;       ///< first element of the tile dim; this thread's row of the block
  llvm::SmallVector<Slot> slots;        ///< empty: no unit in hand
  bool inUnits = false;
  llvm::DenseMap<mlir::Value, Values> env;
  llvm::DenseSet<mlir::Value> wanted; ///< scalars that the current pass needs
  llvm::SmallVector<sched::ReduceOp> folds; ///< of the current pass
  llvm::SmallVector<sched::ReduceOp> onlineSums; ///< of the current pass; they and their maxima are not in `folds`
};

} // namespace kedge::lower::gpu
