// The body of a GPU kernel that turns tensors around in shared memory.
#pragma once
#include "passes/Lower/Gpu/thread/TileKernel.h"

namespace kedge::lower::gpu {

/// Nests without reductions whose plan has a tile dim: a block takes a tile, and tensors that lie across the
/// lanes are read and written along it.
class TileEmitter : TileKernel {
public:
  using TileKernel::TileKernel;
  void emit();

private:
  void loadTile(unsigned input);
  void enterSlots();
  void storePoints();
  void storeTiles();
  /// Indices and validity of an element of the tile: its place along the lanes and along the tile dim.
  ThreadPosition::Slot slotAt(mlir::Value along, mlir::Value across);
  ElementMemory storedMemory(const Access &access);
  mlir::Value rowOf(int64_t slot);

  mlir::Value tileFirst, tileRow; ///< first element of the tile dim; this thread's row of the block
};

} // namespace kedge::lower::gpu
