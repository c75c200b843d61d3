// The body of a GPU kernel that turns tensors around in shared memory.
#pragma once
#include "passes/Lower/Gpu/thread/ThreadScalars.h"

namespace kedge::lower::gpu {

/// Nests without reductions whose plan has a tile dim: a block takes a tile, and tensors that lie across the
/// lanes are read and written along it.
class TileEmitter {
public:
  /// The kernel's arguments are the nest's inputs, then its outputs.
  TileEmitter(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, const ClusterNest &nest,
              const GpuPlan &plan);
  void emit();

private:
  using Values = BodyWalk::Values;

  void enterTile();
  void loadTile(unsigned input);
  void enterSlots();
  void storePoints();
  void storeTiles();
  /// Indices and validity of an element of the tile: its place along the lanes and along the tile dim.
  ThreadPosition::Slot slotAt(mlir::Value along, mlir::Value across);
  ElementMemory storedMemory(const Access &access);
  mlir::Value rowOf(int64_t slot);
  mlir::Value number(int64_t value) { return position.number(value); }

  mlir::OpBuilder &b;
  mlir::gpu::GPUFuncOp kernel;
  mlir::Location loc;
  const ClusterNest &nest;
  const GpuPlan &plan;
  ScalarOps ops;
  ThreadPosition position;
  ThreadMemory memory;
  ThreadScalars scalars;
  mlir::Value tileFirst, tileRow; ///< first element of the tile dim; this thread's row of the block
};

} // namespace kedge::lower::gpu
