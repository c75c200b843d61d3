// Products of f32 tiles in shared memory: every thread of a block keeps a small part of the result in
// registers.
#pragma once
#include "passes/Lower/Gpu/library/KernelBuilder.h"

namespace kedge::lower::gpu {

/// rows x columns floats in shared memory, row-major, 4 columns a chunk. Chunks of a row are exchanged by its
/// number, so that neighbouring rows lie in different banks at equal columns.
class Tile {
public:
  /// `columns`: a multiple of 4.
  Tile(KernelBuilder &k, Memory memory, int64_t rows, int64_t columns);

  Num chunk(Num row, Num number) const;                    ///< four columns
  Num load(Num row, Num column, unsigned width = 1) const; ///< within a chunk
  void store(Num row, Num column, Num value) const;

  int64_t rows, columns;

private:
  Num place(Num row, Num column) const;

  KernelBuilder *k;
  Memory memory;
  int64_t mask;
};

/// Which of n indices a thread owns: groups of `vec` neighbours, all threads' first groups before their
/// second ones.
struct Share {
  Num thread;
  int64_t threads, groups, vec;
  int64_t distance = 1; ///< between the lanes of neighbouring threads

  int64_t size() const { return groups * vec; }
  Num at(int64_t number) const { return group(number / vec) + number % vec; }
  Num group(int64_t number) const { return thread * vec + number * threads * vec; }

  /// All of `count` indices, in groups of at most `most`.
  static Share of(Num thread, int64_t threads, int64_t count, int64_t most = 1);
};

/// Where a thread stands in the grid ny x nx that works on a tile.
struct Grid {
  Num y, x;
  int64_t ny, nx;
  static Grid of(KernelBuilder &k, int64_t ny, int64_t nx) {
    return {k.thread() / nx, k.thread() % nx, ny, nx};
  }
};

/// A thread's part of a result: element (r, c) is number r * columns.size() + c of its values.
struct TilePart {
  Share rows, columns;
  int64_t size() const { return rows.size() * columns.size(); }
};

/// sums += A B^T over `depth` columns (a multiple of 4); rows of A and B are the part's rows and columns.
Nums productNT(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b, int64_t depth,
               Nums sums);
/// sums += A B over `depth` columns of A (a multiple of 4).
Nums productNN(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b, int64_t depth,
               Nums sums);
/// sums += A^T B over `depth` rows of both.
Nums productTN(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b, int64_t depth,
               Nums sums);

/// Rows of a matrix in global memory.
struct GlobalRows {
  Memory memory;
  Num first;      ///< place of the first row
  int64_t stride; ///< between rows
  Num count;      ///< rows from the first one on
  int64_t columns;
  unsigned vector; ///< columns that may be moved at once: 8, 4 or 1
};
/// tile = scale * rows, by all `threads` of the block; zeros where there are no rows or columns.
void fill(KernelBuilder &k, const Tile &tile, const GlobalRows &rows, int64_t threads, double scale = 1);
/// Rows from a part of a result; what lies outside is left out.
void storePart(KernelBuilder &k, const TilePart &part, Nums values, const GlobalRows &rows);

} // namespace kedge::lower::gpu
