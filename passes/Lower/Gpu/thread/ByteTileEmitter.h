// The body of a GPU kernel that writes bytes as they lie and turned around: casts of matrices to 8-bit
// floats.
#pragma once
#include "passes/Lower/Gpu/thread/TileKernel.h"

namespace kedge::lower::gpu {

/// Nests whose plan turns bytes: a block takes a tile, a thread a patch of 4 x 4 elements, which it turns in
/// its registers. Four rows of a patch are a word, so shared memory holds words, and memory gets 16 bytes at
/// once along the rows and 4 along the lanes.
class ByteTileEmitter : TileKernel {
public:
  using TileKernel::TileKernel;
  void emit();

private:
  void enterPatch();
  void storeRows();
  void keepTurned(unsigned output, mlir::Value shared);
  void storeTurned(unsigned output, mlir::Value shared);
  Values turned(Values rows);
  mlir::Value word(mlir::Value column, mlir::Value row);
  /// Whether an index of a dim exists; null where all of the tiles do.
  mlir::Value exists(mlir::Value index, unsigned dim);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);

  Values first;              ///< indices of the tile's first element, by dim
  mlir::Value across, along; ///< of this thread's patch in the tile: along the lanes, along the tile dim
  mlir::Value valid;         ///< the patch exists; null: it does
};

} // namespace kedge::lower::gpu
