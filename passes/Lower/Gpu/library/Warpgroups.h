// Hopper's own instructions, which sm_90a alone has: barriers on which copies arrive, boxes that the copy
// engine brings, products of a warpgroup. The PTX ISA document gives their layouts ("Asynchronous Warpgroup
// Level Matrix Instructions", "Tensors").
#pragma once
#include "passes/Lower/Gpu/library/MatrixTiles.h"

namespace kedge::lower::gpu {

inline constexpr int64_t kWarpgroup = 128;  ///< threads
inline constexpr int64_t kSlabColumns = 64; ///< 16-bit numbers in a row of 128 bytes
inline constexpr int64_t kSlabAlignment = 1024;

/// Barriers in shared memory. A phase of one is complete when its threads have arrived and all bytes that are
/// expected have come; the next one begins at once.
class Arrivals {
public:
  /// `counts`: threads that arrive in a phase of each. By all threads of the block.
  Arrivals(KernelBuilder &k, llvm::ArrayRef<int64_t> counts);

  void arrive(Num number) const;
  /// Arrives; this phase is complete after so many bytes.
  void expect(Num number, int64_t bytes) const;
  /// Until the phase of this parity (of its number, from 0 on) is complete. Before the first phase, one of
  /// parity 1 is.
  void wait(Num number, Num parity) const;
  mlir::Value address(Num number) const; ///< i32

private:
  KernelBuilder &k;
  Memory memory;
};

/// Must come before the first copy by a map that the host wrote, in each block.
void acquireMap(KernelBuilder &k, Memory map);
/// Begins to bring the box at `coordinates` (innermost first) to `to`; `barrier` of `arrivals` gets its
/// bytes.
void bringBox(KernelBuilder &k, Memory map, llvm::ArrayRef<Num> coordinates, Memory to,
              const Arrivals &arrivals, Num barrier);

/// rows x 64 slabs numbers in shared memory, one slab of 64 columns behind the other: each as a box is left
/// there. A slab is a MatrixTile of 64 columns.
struct SlabMatrix {
  Memory memory; ///< 16-bit, aligned to kSlabAlignment
  int64_t rows, slabs;

  int64_t size() const { return rows * slabs * kSlabColumns; }
  MatrixTile tile(KernelBuilder &k, int64_t slab) const {
    return {k.shifted(memory, k.index(slab * rows * kSlabColumns)), rows, kSlabColumns};
  }
};

/// A warpgroup's products: 64 rows, 16 a warp, whose pieces are those of one row tile. The left operand is in
/// registers. They are begun here; sums, and the right operand's memory, belong to the tensor cores until
/// waitForProducts. `shift`: elements that the matrix lies behind its place.

/// A B^T of `steps` steps of 16; rows of B are the columns.
Nums beginMatmulByRows(KernelBuilder &k, mlir::Type type, LeftWords left, const SlabMatrix &right, Num shift,
                       int64_t steps);
/// sums + A B; rows of B are the steps' 16 numbers.
Nums beginMatmulByColumns(KernelBuilder &k, mlir::Type type, LeftWords left, const SlabMatrix &right,
                          Num shift, int64_t steps, const Nums &sums);
/// Products' results, once all that the warpgroup began is done.
Nums waitForProducts(KernelBuilder &k, const Nums &sums);

/// Registers of each thread of a warpgroup from now on.
void keepRegisters(KernelBuilder &k, int64_t count, bool more);
void syncWarp(KernelBuilder &k);

} // namespace kedge::lower::gpu
