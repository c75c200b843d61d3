// Where a thread of a GPU kernel stands: its group, its place in the team, the units in hand.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "passes/Lower/Gpu/GpuPlan.h"

namespace kedge::lower::gpu {

/// A scalar of the cluster is one register value here, or one for each unit that the thread holds (a slot); a
/// value that varies along the lanes has `width` of them.
class ThreadPosition {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// A unit in hand. `valid` is null where the unit is known to exist; others are clamped to the last unit,
  /// so that loads stay inside, and must neither be reduced nor stored.
  struct Slot {
    Values indices; ///< by dim
    mlir::Value unit, valid;
    mlir::Value lanes; ///< which of a ragged row's lanes exist, `valid` included; null: as `valid` says
  };

  ThreadPosition(ScalarOps &ops, const ClusterNest &nest, const GpuPlan &plan)
      : ops(ops), b(ops.builder), loc(ops.loc), nest(nest), plan(plan), groupIndices(nest.rank()) {}

  void readPosition();
  /// `groupIndices` are those of the first element of the block's tile.
  void enterTile();
  void enterGroup();
  /// The row of this thread's team in a turn of a block that adds rows up; `groupIndices` then name one row.
  void enterRow(mlir::Value turn);
  /// Slots hold units first, first + step, ...; `known` of the units from the first one's team on surely
  /// exist. A step is a team where nothing is said.
  void enterSlots(mlir::Value first, int64_t count, int64_t known, int64_t step = 0);
  void leaveSlots();

  mlir::Value threadId(mlir::gpu::Dimension dim);
  mlir::Value blockId(mlir::gpu::Dimension dim);
  mlir::Value number(int64_t value) { return ops.intConstant(plan.wideIndex ? 64 : 32, value, 1); }
  mlir::Type indexType() { return b.getIntegerType(plan.wideIndex ? 64 : 32); }
  /// Both conditions; null is true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  void guarded(mlir::Value condition, llvm::function_ref<void()> body);

  const Values &indicesOf(unsigned copy) const { return slots.empty() ? groupIndices : slots[copy].indices; }
  bool isEntered(mlir::Value v) const { return inUnits || !variesBySlot(v); }
  bool isInLanes(mlir::Value v) const { return nest.has(v, plan.lanesDim); }
  unsigned copiesOf(mlir::Value v) const { return variesBySlot(v) ? slots.size() : 1; }
  unsigned lanesOf(mlir::Value v) const { return isInLanes(v) ? plan.width : 1; }

private:
  bool variesBySlot(mlir::Value v) const;
  mlir::Value lanesInside(mlir::Value unit);
  void decompose(mlir::Value position, mlir::ArrayRef<unsigned> dims, Values &indices);

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;

public:
  const ClusterNest &nest;
  const GpuPlan &plan;
  mlir::Value groupNumber, rank, begin; ///< this thread's group, place in its team, first unit of its block
  mlir::Value team, column;      ///< place of the team in the block; of the thread across the reduction
  mlir::Value groupValid;        ///< null: always
  Values groupIndices;           ///< of parallel dims, by dim
  llvm::SmallVector<Slot> slots; ///< empty: no unit in hand
  bool inUnits = false;
};

} // namespace kedge::lower::gpu
