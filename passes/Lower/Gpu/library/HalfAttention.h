// Attention of 16-bit operands on tensor cores: what its kernels share. A warp owns rows of the result and of
// their left operands; rows of the right operands pass through shared memory. docs/rationale/gpu-attention.md
// tells more.
#pragma once
#include "passes/Lower/Gpu/library/Attention.h"
#include "passes/Lower/Gpu/library/MatrixTiles.h"

namespace kedge::lower::gpu::attention {

inline constexpr int64_t kSharedNumbers = 24576; ///< 16-bit, in 48 KiB
/// Registers for sums, scores and left operands. A thread of two blocks of 128 has 255; the rest is for
/// addresses.
inline constexpr int64_t kPlannedRegisters = 168;

/// How a kernel is cut.
struct Tiling {
  int64_t warps, rowTiles; ///< a warp owns 16 rowTiles rows
  int64_t columns;         ///< rows of the operands that pass, at once
  int64_t stages;          ///< blocks of them that shared memory holds
  bool isHeld;             ///< left operands stay in registers

  int64_t warpRows() const { return 16 * rowTiles; }
  int64_t rows() const { return warps * warpRows(); }
  int64_t threads() const { return warps * 32; }
  /// Registers of f32 pieces as wide as a tile.
  int64_t sums(int64_t width) const { return rowTiles * width / 2; }
  /// Of left operands.
  int64_t held(int64_t width) const { return isHeld ? rowTiles * width / 4 : 0; }
};

inline int64_t matrixDepth(int64_t depth) { return ceilDiv(depth, 16) * 16; }

/// Whether tensor cores take the call: all these operands are of one 16-bit type, and there are keys.
bool isHalf(const AttentionShape &shape, llvm::ArrayRef<Operand> operands);
/// Emits the kernels. `operands`: O, LSE, Q, K, V.
void generateHalfAttention(CallKernels &kernels, const AttentionShape &shape,
                           llvm::ArrayRef<Operand> operands);
/// `operands`: dO, Q, K, V, O, LSE, dQ, dK, dV.
void generateHalfAttentionGrad(CallKernels &kernels, const AttentionShape &shape,
                               llvm::ArrayRef<Operand> operands);
[[noreturn]] void failTooDeep(const CallKernels &kernels, const AttentionShape &shape);

/// Rows of a left operand that lie in shared memory or in registers.
class LeftRows {
public:
  LeftRows(KernelBuilder &k, const MatrixTile &tile, const Tiling &tiling, Num firstRow)
      : k(&k), tiling(tiling), steps(tile.columns / 16), reader(k, tile, PartReader::Below, firstRow) {}

  /// Reads what registers hold; the tile is there.
  void hold();
  Nums words(int64_t i, int64_t step) const;

private:
  KernelBuilder *k;
  Tiling tiling;
  int64_t steps;
  PartReader reader;
  llvm::SmallVector<Nums> held;
};

class HalfKernel {
protected:
  /// `flipped`: rows are keys, columns queries. `numbers`: size of the shared memory.
  HalfKernel(KernelBuilder &k, const AttentionShape &shape, const Tiling &tiling, mlir::Type type,
             int64_t numbers, const OptionalOperands &optional, bool flipped = false, int64_t alignment = 16);

  /// The part of shared memory from number `first` on.
  MatrixTile tile(int64_t first, int64_t rows, int64_t columns);
  Nums zeros(int64_t count) const { return Nums(count, k.f32(0)); }
  Pieces sumsOf(int64_t width) const { return {tiling.rowTiles, width / 8}; }

  /// Scores of the warp's rows and a block of columns; what hides them is computed where there is any.
  Nums scoresOf(const LeftRows &left, const PartReader &right, Num shift, int64_t depth,
                Nums *factors = nullptr);
  /// Scores from products: scaled, capped, masked, hidden.
  Nums scoresFrom(Nums products, Nums *factors = nullptr);
  /// 2^(score - reference), reference in units of log 2.
  Num weight(Num score, Num reference) const { return fastExp2(fma(score, k.f32(unit), -reference)); }
  Nums dropFactors();

  /// Loads of block number n begin in `begin`, at a place in shared memory that lies `shift` behind the
  /// first; then `body` computes with them. All that the kernel loaded is there at the end. `mayBeNone`: some
  /// count is 0, and what was begun before the walk is waited for by nobody in it.
  using Begin = Fn<void(Num n, Num shift)>;
  using Body = Fn<Nums(Num n, Num shift, Nums carried)>;
  Nums walk(Num count, bool mayBeNone, int64_t stageNumbers, Nums carried, Begin begin, Body body);

  static Num maximum(Num a, Num b); ///< of two that compare
  /// The warp's sums, rounded, to global memory, by way of shared memory.
  void writeRows(const Nums &sums, int64_t width, const GlobalRows &rows);

  KernelBuilder &k;
  const AttentionShape &shape;
  Tiling tiling;
  mlir::Type type;
  Scores scores;
  Dropout dropout;
  Memory pool;
  Num warpRow;            ///< the warp's first row in the block
  ScorePosition position; ///< of the warp's scores
  Pieces pieces;          ///< of scores
  TilePart part;
  double unit; ///< of scores, in units of log 2

private:
  std::optional<Num> hasHidden();
  Nums walkBlocks(Num count, int64_t stageNumbers, Nums carried, Begin begin, Body body);
};

/// State of the softmax of a lane's rows; four lanes share a row, and know the same of it.
struct HalfSoftmax {
  Nums maximum, sum, values;

  Nums pack() const;
  static HalfSoftmax unpack(const Nums &all, size_t rows);
};

/// A forward kernel: rows are queries.
class QueryRows : protected HalfKernel {
protected:
  using HalfKernel::HalfKernel;

  /// Before any key; a sink is one score more, whose value is 0.
  HalfSoftmax startOf(int64_t width, const std::optional<Memory> &sinks) const;
  /// Scores become weights; what was summed before is brought to the new maximum.
  void weigh(Nums &values, HalfSoftmax &softmax);
  /// Values of the whole rows, and to `lse` its numbers from `first` on, of `left` rows.
  Nums finishRows(HalfSoftmax softmax, Memory lse, Num first, Num left);

private:
  void scaleRow(Nums &values, int64_t r, Num factor);
};

} // namespace kedge::lower::gpu::attention
