// Products of 16-bit matrices on tensor cores: tiles in shared memory, parts of them in the registers of a
// warp. mma.sync.m16n8k16 and ldmatrix, whose layouts the PTX ISA document gives; every architecture from
// sm_80 on has both.
#pragma once
#include "passes/Lower/Gpu/library/Tiles.h"

namespace kedge::lower::gpu {

/// rows x columns 16-bit numbers in shared memory, row-major in chunks of 8 columns (16 bytes). Chunks of a
/// row are exchanged by its number, so that eight neighbouring rows lie in different banks at equal chunks.
class MatrixTile {
public:
  /// `columns`: a multiple of 16. `memory`: 16-bit integers.
  MatrixTile(Memory memory, int64_t rows, int64_t columns);

  int64_t chunks() const { return columns / 8; }
  int64_t size() const { return rows * columns; }
  /// What a row's chunk numbers are exchanged by.
  Num exchange(Num row) const { return row / divisor & literal(row, mask); }
  /// The place of a chunk.
  Num place(Num row, Num chunk) const { return row * columns + (chunk ^ exchange(row)) * 8; }

  Memory memory;
  int64_t rows, columns;

private:
  int64_t divisor, mask;
};

/// Loads 16 x 16 parts of a tile as four 8 x 8 matrices, a word of each for a lane.
class PartReader {
public:
  /// Which matrix is the second of the four: the one below the first or the one beside it.
  enum Second { Below, Beside };
  /// `firstRow`: a multiple of 16, from which the rows of parts count.
  PartReader(KernelBuilder &k, const MatrixTile &tile, Second second, Num firstRow);
  /// `row`: a multiple of 16. `chunk`: an even number. Transposed: each of the matrices. `shift`: elements
  /// that the tile lies behind its place.
  Nums load(int64_t row, int64_t chunk, bool transposed, Num shift) const;

private:
  KernelBuilder *k;
  MatrixTile tile;
  Num start, exchanged;
};

/// Sums of 16 rowTiles x 8 columnTiles elements that a warp holds in registers, as mma leaves them: of each
/// 16 x 8 piece a lane has two neighbours in row lane / 4, and two eight rows below. They are numbered as
/// those of a Part.
struct Pieces {
  int64_t rowTiles, columnTiles;
  bool flipped = false; ///< the Part's rows are the pieces' columns

  int64_t size() const { return rowTiles * columnTiles * 4; }
  int64_t number(int64_t i, int64_t j, int64_t e) const {
    int64_t row = 2 * i + e / 2, column = 2 * j + e % 2;
    return flipped ? column * 2 * rowTiles + row : row * 2 * columnTiles + column;
  }
  /// Places in the rows and the columns.
  TilePart part(KernelBuilder &k) const;
};

/// The four words of a 16 x 16 part of the left operand: row tile i, step number `step` along the depth.
using LeftWords = Fn<Nums(int64_t i, int64_t step)>;

/// sums += A B^T over `steps` steps of 16; rows of B, read with the second matrix beside the first, are the
/// columns.
Nums multiplyByRows(KernelBuilder &k, mlir::Type type, const Pieces &pieces, LeftWords left,
                    const PartReader &right, Num shift, int64_t steps, Nums sums);
/// sums += A B; rows of B, read with the second matrix below the first, are the steps' 16 numbers.
Nums multiplyByColumns(KernelBuilder &k, mlir::Type type, const Pieces &pieces, LeftWords left,
                       const PartReader &right, Num shift, int64_t steps, Nums sums);
/// Sums, rounded, as a left operand: step s has their columns 16 s to 16 s + 15.
Nums leftWords(KernelBuilder &k, mlir::Type type, const Pieces &pieces, const Nums &values, int64_t i,
               int64_t step);

/// 2^x, f32, by the special function unit: within 2 units in the last place, numbers below 2^-126 are 0.
Num fastExp2(Num x);

/// tile = rows, by all `threads` of the block, zeros where there are none: begun here, there after
/// waitForFills.
void beginFill(KernelBuilder &k, const MatrixTile &tile, const GlobalRows &rows, int64_t threads, Num shift);
/// Waits for all that this thread began; a barrier must follow.
void waitForFills(KernelBuilder &k);
/// The warp's pieces, rounded, into rows of the tile from `firstRow` on.
void storePieces(KernelBuilder &k, mlir::Type type, const Pieces &pieces, const Nums &values,
                 const MatrixTile &tile, Num firstRow);
/// rows = tile, by all `threads`, 16 bytes at once where rows allow it.
void storeTile(KernelBuilder &k, const MatrixTile &tile, const GlobalRows &rows, int64_t threads);

} // namespace kedge::lower::gpu
