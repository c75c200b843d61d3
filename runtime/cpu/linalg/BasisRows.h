// Inner loops of eigenvectors and orthogonal bases, in f64; compiled for each instruction set like GemmTile.
// Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Of two neighbouring rows: (x, y) becomes (c x + s y, c y - s x).
struct Turn {
  double c, s;
};

/// Turns of rows first and first + 1, then of first + 1 and first + 2, up to last - 1 and last.
struct TurnSweep {
  int64_t first, last;
  const Turn *turns; ///< of row 0 first
};

constexpr int64_t kTurnedColumns = 32;

struct BasisRows {
  double (*dot)(const double *a, const double *b, int64_t count);
  /// from -= factor what
  void (*subtract)(double *from, double factor, const double *what, int64_t count);
  /// The sweeps one after the other on rows of kTurnedColumns numbers.
  void (*turn)(double *rows, const TurnSweep *sweeps, int64_t count);
};

const BasisRows &basisRows();

BasisRows basisRowsAvx512F64();
BasisRows basisRowsAvx2F64();
BasisRows basisRowsSve256F64();
BasisRows basisRowsBaseF64();

} // namespace kedge::rt::cpu
