// A block's part of a product of 16-bit numbers on tensor cores: rows x columns of f32 sums in the registers
// of its warps, both operands in two buffers of shared memory, so that the next step is read while this one
// is multiplied. As MatmulTiles, whose threads multiply.
#pragma once
#include "passes/Lower/Gpu/library/MatmulTiles.h"
#include "passes/Lower/Gpu/library/MatrixTiles.h"

namespace kedge::lower::gpu {

struct HalfTileShape {
  int64_t rows, columns;
  int64_t warpsDown;  ///< of the block's eight; the others stand side by side
  int64_t depth = 32; ///< of a step

  Pieces pieces() const { return {rows / warpsDown / 16, columns * warpsDown / kWarps / 8}; }
  static constexpr int64_t kWarps = kTileThreads / 32;

  /// What takes least time of `products` products of rows x columns sums. `wholeColumns`: tiles as wide as a
  /// divisor of this are preferred; 0: any.
  static HalfTileShape of(int64_t rows, int64_t columns, int64_t products, int64_t wholeColumns = 0);
};

class HalfMatmulTiles {
public:
  HalfMatmulTiles(KernelBuilder &k, const HalfTileShape &tile, mlir::Type type);

  /// The sums over `steps` steps. `begin` starts asynchronous copies of the step at `place` to a buffer;
  /// `load` reads the rest of what the thread moves, `put` writes that. Past the last step both read whatever
  /// does not lie outside.
  using Advance = Fn<Nums(Nums place)>;
  using Begin = Fn<void(const Nums &place, Num buffer)>;
  using Load = Fn<Nums(const Nums &place)>;
  using Put = Fn<void(Num buffer, const Nums &values)>;
  Nums sumSteps(Num steps, Nums first, Advance advance, Begin begin, Load load, Put put);

  /// Neighbours along the depth, up to eight of one chunk, as 16-bit integers.
  void storeA(Num buffer, Num row, Num depth, Num values) { store(a, buffer, row, depth, values); }
  void storeB(Num buffer, Num column, Num depth, Num values) { store(b, buffer, column, depth, values); }
  /// Rows of A that lie one after the other in memory, each as long as the depth.
  void copyA(Num buffer, Memory from, Num first);

  /// The sums of each of the thread's rows, in pairs of neighbouring columns.
  using Pair = Fn<void(Num row, Num column, llvm::ArrayRef<Num> values)>;
  void forEachPair(llvm::ArrayRef<Num> sums, Pair body) const;

private:
  void store(const MatrixTile &tile, Num buffer, Num row, Num depth, Num values);
  Nums addStep(Num buffer, Nums sums) const;

  KernelBuilder &k;
  HalfTileShape tile;
  mlir::Type type;
  Pieces pieces;
  MatrixTile a, b;
  Num warpRow, warpColumn;
};

} // namespace kedge::lower::gpu
