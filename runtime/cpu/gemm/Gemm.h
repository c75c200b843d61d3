// Products of dense matrices: packed panels in the workspace, register tiles, a fixed order
// of sums. Every element of C is a sum over blocks of k whose size depends on k only. So
// its bits depend neither on the number of threads nor on how the work is divided.
#pragma once
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/GemmPack.h"
#include "runtime/cpu/gemm/GemmTeam.h"
#include "runtime/cpu/gemm/GemmTile.h"

namespace kedge::rt::cpu {

/// How a product of m x n x k is divided, with panels of type E.
struct GemmPlan {
  int64_t m, n, k;
  int64_t kBlock, nBlock, mBlock;
  int64_t
      parts; ///< of k, each summed by itself, whose sums are added as a balanced tree; they are in one block
  int64_t chain;  ///< terms of a part, where parts are added one after the other; 0: they are not
  bool backwards; ///< from the last part to the first
  int threads;
  size_t panelABytes, panelBBytes; ///< one thread's block of A; one buffer of packed B
  int64_t blocksA;                 ///< blocks of A in all
  bool keepsA;                     ///< one thread, which packs all of A first
  size_t sumBytes;                 ///< for sums of nBlock columns between two blocks of k
  size_t bytesA() const { return panelABytes * (keepsA ? blocksA : threads); }
  size_t workspaceBytes() const { return panelBBytes * 2 + bytesA() + sumBytes; }
};

/// threads: size of the team; 1 inside a parallel region. `finishes`: results go to a GemmFinish.
template <typename E> GemmPlan planGemm(int64_t m, int64_t n, int64_t k, int threads, bool finishes = false);

/// A product whose k is `parts` (a power of two, 2 or more) equal parts: C is the balanced tree over the
/// products of the parts, each with the bits of a product of its own. A part fits one block of k
/// (mostOfPart).
template <typename E> GemmPlan planGemmOfParts(int64_t m, int64_t n, int64_t k, int64_t parts, int threads);
/// A product whose k are parts of `chain` terms each, at most kMostOfChain: C is the sum of their products
/// one after the other, each with the bits of a product of its own.
template <typename E>
GemmPlan planGemmOfChain(int64_t m, int64_t n, int64_t k, int64_t chain, bool backwards, int threads);
constexpr int64_t kMostOfChain = 64;

/// Terms of a part that one call takes, on any machine.
constexpr int64_t kMostParts = 4096;

/// Workspace for operands of type S on any machine, since it is planned at compile time.
template <typename S> size_t gemmWorkspaceBytes(int64_t m, int64_t n, int64_t k, int threads, bool finishes);

/// Most bytes of a row of a panel for operands of type S, on any machine.
template <typename S> size_t gemmPanelRowBytes(int64_t k);

/// What the sums of C start from.
enum class GemmStart { Zero, Keep, Bias };

/// Receives the finished sums of each tile once, from any thread: rows of `stride` elements, at (row, column)
/// of C.
template <typename Sum> struct GemmFinish {
  void (*tile)(const void *context, const Sum *sums, int64_t stride, int64_t row, int64_t column,
               int64_t rows, int64_t columns);
  const void *context;
  /// If set, all that `tile` does is to round sums to bf16, to here: tiles that can do so themselves need not
  /// call it.
  uint16_t *rounded = nullptr;
  int64_t roundedStride = 0;
};

constexpr int64_t kMostTileElements = 32 * 32;

/// A product. PackA(dst, width, row, rows, k0, kLength) and PackB(dst, width, column, columns,
/// k0, kLength) write a panel. With `finish`, C is not written, and start must not be Keep.
template <typename E, typename PackA, typename PackB, typename Sum> struct GemmJob {
  const GemmPlan &plan;
  PackA &packA;
  PackB &packB;
  Sum *c; ///< of the product; or sums between two blocks of k, then for one block of columns
  int64_t ldc;
  GemmStart start;
  const Sum *bias;
  const GemmFinish<Sum> *finish;
  char *workspace;
  const GemmTile<E> &tile = gemmTile<E>();

  /// A block of B: nc columns from jc on, kc rows of k from pc on; `depth` is the padded number of rows in
  /// panels. With several parts those of the first.
  struct Block {
    int64_t jc, nc, pc, kc, depth, panels;
  };
  Block block(int64_t column, int64_t depth) const {
    const int64_t jc = column * plan.nBlock, before = depth * plan.kBlock;
    const int64_t nc = std::min(plan.nBlock, plan.n - jc), terms = std::min(plan.kBlock, plan.k - before);
    const int64_t kc = terms / plan.parts, pc = plan.backwards ? plan.k - before - terms : before;
    return {jc, nc, pc, kc, tile.panelDepth(kc), (nc + tile.columns - 1) / tile.columns};
  }

  /// The block of A of a member of the team, or with keepsA the block of that number.
  E *packedA(int64_t number) const {
    return reinterpret_cast<E *>(workspace + 2 * plan.panelBBytes + number * plan.panelABytes);
  }
  E *packedB(int64_t buffer) const { return reinterpret_cast<E *>(workspace + buffer * plan.panelBBytes); }

  /// Panels of the first of `lanes`, which returns how many: several where `pack` can pack neighbours at
  /// once.
  template <typename Pack>
  static int64_t packSome(Pack &pack, E *dst, int64_t width, int64_t panelWidth, int64_t first, int64_t lanes,
                          const Block &at) {
    if constexpr (requires { pack.neighbours(dst, width, first, lanes, at.pc, at.kc); })
      if (const int64_t packed = pack.neighbours(dst, width, first, lanes, at.pc, at.kc); packed > 0)
        return packed;
    pack(dst, panelWidth, first, std::min(width, lanes), at.pc, at.kc);
    return 1;
  }

  /// The same columns in another part of k.
  Block ofPart(Block at, int64_t part) const {
    at.pc += part * at.kc;
    return at;
  }
  int64_t rowsOfPart(const Block &at, int64_t part) const { return part * plan.mBlock * at.depth; }
  int64_t columnsOfPart(const Block &at, int64_t part) const { return part * plan.nBlock * at.depth; }

  void packRows(E *packed, int64_t row, int64_t rows, const Block &at) const {
    for (int64_t part = 0; part < plan.parts; ++part)
      packRowsOfPart(packed + rowsOfPart(at, part), row, rows, ofPart(at, part));
  }

  void packRowsOfPart(E *packed, int64_t row, int64_t rows, const Block &at) const {
    const int64_t MR = tile.rows;
    for (int64_t ir = 0; ir < rows;)
      ir += MR * packSome(packA, packed + ir * at.depth, MR, tile.panelRows(std::min(MR, rows - ir)),
                          row + ir, rows - ir, at);
  }

  /// Packs panels [begin, end) of the block.
  void packColumns(E *packed, int64_t begin, int64_t end, const Block &at) const {
    for (int64_t part = 0; part < plan.parts; ++part)
      packColumnsOfPart(packed + columnsOfPart(at, part), begin, end, ofPart(at, part));
  }

  void packColumnsOfPart(E *packed, int64_t begin, int64_t end, const Block &at) const {
    const int64_t NR = tile.columns;
    for (int64_t panel = begin; panel < end;)
      panel += packSome(packB, packed + panel * NR * at.depth, NR, NR, at.jc + panel * NR,
                        std::min((end - panel) * NR, at.nc - panel * NR), at);
  }

  /// Multiplies the packed rows by panels [begin, end) of the block. A panel of A stays in the L1 while
  /// panels of B come from the L2, a few at a time, so that they are still there for the next rows.
  void multiply(const E *packedRows, int64_t firstRow, int64_t rowCount, const E *packedColumns,
                int64_t begin, int64_t end, const Block &at) const {
    const int64_t panelBytes = at.depth * plan.parts * tile.columns * static_cast<int64_t>(sizeof(E));
    const int64_t few = std::max<int64_t>(1, tile.sizes.rowBytes / panelBytes);
    if (tile.runRow)
      return multiplyRows(packedRows, firstRow, rowCount, packedColumns, begin, end, at,
                          std::min<int64_t>(few, tile.mostInRow));
    for (int64_t panel = begin; panel < end; panel += few)
      for (int64_t ir = 0; ir < rowCount; ir += tile.rows)
        for (int64_t each = panel; each < std::min(end, panel + few); ++each)
          if (plan.parts == 1)
            multiplyTile(packedRows, firstRow, rowCount, ir, packedColumns, each, at);
          else
            sumTile(packedRows, firstRow, rowCount, ir, packedColumns, each, at);
  }

  /// A tile of the tree over the parts: sums of runs of 1, 2, 4 ... parts wait until their neighbours are
  /// there.
  void sumTile(const E *packedRows, int64_t firstRow, int64_t rowCount, int64_t ir, const E *packedColumns,
               int64_t panel, const Block &at) const {
    const int64_t NR = tile.columns, row = firstRow + ir, column = at.jc + panel * NR;
    const int64_t rows = std::min<int64_t>(tile.rows, rowCount - ir),
                  columns = std::min(NR, at.nc - panel * NR);
    alignas(64) Sum sums[kMostWaiting][kMostTileElements];
    int waiting = 0;
    for (int64_t part = 0; part < plan.parts; ++part) {
      tile.run(at.depth, packedRows + rowsOfPart(at, part) + ir * at.depth,
               packedColumns + columnsOfPart(at, part) + panel * NR * at.depth, sums[waiting++], NR,
               static_cast<int>(rows), static_cast<int>(columns), false, nullptr);
      for (int64_t run = part + 1; run % 2 == 0; run /= 2, --waiting)
        for (int64_t i = 0; i < rows * NR; ++i)
          sums[waiting - 2][i] += sums[waiting - 1][i];
    }
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(sums[0] + i * NR, columns, c + (row + i) * ldc + column);
  }
  static constexpr int kMostWaiting = 14; ///< of kMostParts, with the one that is made

  void multiplyTile(const E *packedRows, int64_t firstRow, int64_t rowCount, int64_t ir,
                    const E *packedColumns, int64_t panel, const Block &at) const {
    const int64_t NR = tile.columns, MR = tile.rows;
    const bool first = at.pc == 0, accumulate = !first || start == GemmStart::Keep,
               last = at.pc + at.kc == plan.k;
    const int64_t column = at.jc + panel * NR, columns = std::min(NR, at.nc - panel * NR);
    if (plan.chain > 0)
      return tile.runChain({at.depth, plan.chain, plan.backwards, plan.backwards ? !last : !first},
                           packedRows + ir * at.depth, packedColumns + panel * NR * at.depth,
                           c + (firstRow + ir) * ldc + column, ldc,
                           static_cast<int>(std::min(MR, rowCount - ir)), static_cast<int>(columns));
    const Sum *tileBias = first && start == GemmStart::Bias ? bias + column : nullptr;
    const int64_t row = firstRow + ir, rows = std::min(MR, rowCount - ir);
    alignas(64) Sum finished[kMostTileElements];
    int64_t stride = ldc;
    Sum *sums = c + row * ldc + (finish ? column - at.jc : column);
    if (finish && first && last)
      sums = finished, stride = NR;
    tile.run(at.depth, packedRows + ir * at.depth, packedColumns + panel * NR * at.depth, sums, stride,
             static_cast<int>(rows), static_cast<int>(columns), accumulate, tileBias);
    if (finish && last)
      finish->tile(finish->context, sums, stride, row, column, rows, columns);
  }

  /// The row's share of the panels of B that come next.
  void fetchAhead(GemmTileRow<E> &row, const E *packedColumns, int64_t panel, int64_t few, int64_t ir,
                  int64_t rowCount, const Block &at) const {
    const int64_t elements = std::max<int64_t>(0, std::min(few, at.panels - panel)) * tile.columns * at.depth;
    const int64_t begin = elements * ir / rowCount,
                  end = elements * std::min(ir + tile.rows, rowCount) / rowCount;
    row.ahead = packedColumns + panel * tile.columns * at.depth + begin, row.aheadElements = end - begin;
  }

  /// The same in rows of `few` tiles.
  void multiplyRows(const E *packedRows, int64_t firstRow, int64_t rowCount, const E *packedColumns,
                    int64_t begin, int64_t end, const Block &at, int64_t few) const {
    const int64_t NR = tile.columns;
    const bool first = at.pc == 0, last = at.pc + at.kc == plan.k;
    const bool rounds = finish && last && finish->rounded, keeps = finish && first && last && !rounds;
    if (keeps)
      few = std::min(few, kMostTilesKept);
    alignas(64) Sum finished[kMostTilesKept * kMostTileElements];
    for (int64_t panel = begin; panel < end; panel += few)
      for (int64_t ir = 0; ir < rowCount; ir += tile.rows) {
        const int64_t row = firstRow + ir, column = at.jc + panel * NR;
        GemmTileRow<E> tiles;
        tiles.k = at.depth;
        tiles.a = packedRows + ir * at.depth, tiles.b = packedColumns + panel * NR * at.depth;
        tiles.rows = static_cast<int>(std::min<int64_t>(tile.rows, rowCount - ir));
        tiles.columns = std::min(std::min(few, end - panel) * NR, at.nc - panel * NR);
        fetchAhead(tiles, packedColumns, panel + few, few, ir, rowCount, at);
        tiles.accumulate = !first || start == GemmStart::Keep;
        tiles.bias = first && start == GemmStart::Bias ? bias + column : nullptr;
        tiles.c = c + row * ldc + (finish ? column - at.jc : column), tiles.ldc = ldc;
        if (rounds)
          tiles.rounded = finish->rounded + row * finish->roundedStride + column,
          tiles.roundedStride = finish->roundedStride;
        else if (keeps)
          tiles.c = finished, tiles.ldc = few * NR;
        tile.runRow(tiles);
        for (int64_t part = 0; finish && last && !rounds && part < tiles.columns; part += NR)
          finish->tile(finish->context, tiles.c + part, tiles.ldc, row, column + part, tiles.rows,
                       std::min(NR, tiles.columns - part));
      }
  }

  static constexpr int64_t kMostTilesKept = 2; ///< on the stack, whose bytes plans allow for

  void alone(int64_t columnBlocks, int64_t depthBlocks) const {
    for (int64_t column = 0; column < columnBlocks; ++column)
      for (int64_t depth = 0; depth < depthBlocks; ++depth) {
        const Block at = block(column, depth);
        packColumns(packedB(0), 0, at.panels, at);
        for (int64_t row = 0; row < plan.m; row += plan.mBlock) {
          const int64_t rows = std::min(plan.mBlock, plan.m - row);
          E *packed = packedA(plan.keepsA ? row / plan.mBlock * depthBlocks + depth : 0);
          if (column == 0 || !plan.keepsA)
            packRows(packed, row, rows, at);
          multiply(packed, row, rows, packedB(0), 0, at.panels, at);
        }
      }
  }

  /// The work of member `member` of a team.
  void inTeam(GemmTeam &team, int member) const {
    int64_t held = -1; // which part of A packedA(member) contains
    for (int64_t number = 0; number < team.blocks(); ++number) {
      const Block at = block(team.columnBlock(number), team.depthBlock(number));
      E *columns = packedB(number & 1);
      team.awaitBuffer(number);
      for (int64_t share; (share = team.claimPack(number)) >= 0; team.packed(number)) {
        const auto [begin, end] = team.packPanels(share, at.panels);
        packColumns(columns, begin, end, at);
      }
      team.awaitPacked(number);
      if (finish && at.pc == 0 && number > 0) // the next columns use the same buffer for their sums
        team.awaitComputed(number - 1);
      regions(team, member, number, at, columns, held);
    }
  }

private:
  void regions(GemmTeam &team, int member, int64_t number, const Block &at, const E *columns,
               int64_t &held) const {
    for (int64_t region; (region = team.claimRegion(number, member)) >= 0; team.computed(number, region)) {
      team.awaitRegion(number, region);
      const auto [begin, end] = team.columnPanels(region, at.panels);
      const auto [firstPanel, endPanel] = team.rowPanels(region);
      const int64_t firstRow = firstPanel * tile.rows, endRow = std::min(plan.m, endPanel * tile.rows);
      for (int64_t row = firstRow; row < endRow; row += plan.mBlock) {
        const int64_t rows = std::min(plan.mBlock, endRow - row);
        const bool isWhole = rows == endRow - firstRow;
        const int64_t wanted = team.depthBlock(number) + team.rowBlock(region) * team.depthBlocks();
        if (!isWhole || held != wanted)
          packRows(packedA(member), row, rows, at);
        held = isWhole ? wanted : -1;
        multiply(packedA(member), row, rows, columns, begin, end, at);
      }
    }
  }
};

/// Computes the whole product with a team of plan.threads, or on the calling thread alone if that is 1.
template <typename E, typename PackA, typename PackB, typename Sum>
void gemmBlocked(const GemmPlan &plan, PackA &&packA, PackB &&packB, Sum *c, int64_t ldc, GemmStart start,
                 const Sum *bias, const GemmFinish<Sum> *finish, void *workspace) {
  char *base = static_cast<char *>(workspace);
  if (finish) { // NOLINTNEXTLINE(clang-analyzer-core.NullPointerArithm): such a plan has a workspace
    c = reinterpret_cast<Sum *>(base + 2 * plan.panelBBytes + plan.bytesA());
    ldc = plan.nBlock;
  }
  const GemmJob<E, PackA, PackB, Sum> job{plan, packA, packB, c, ldc, start, bias, finish, base};
  const auto blocks = [](int64_t size, int64_t block) { return (size + block - 1) / block; };
  const int64_t columnBlocks = blocks(plan.n, plan.nBlock), depthBlocks = blocks(plan.k, plan.kBlock);
  if (plan.threads == 1)
    return job.alone(columnBlocks, depthBlocks);
  const GemmTile<E> &tile = job.tile;
  GemmTeam team({plan.threads, blocks(plan.m, tile.rows), plan.mBlock / tile.rows,
                 blocks(std::min(plan.n, plan.nBlock), tile.columns),
                 2.0 * tile.rows * tile.columns * static_cast<double>(plan.kBlock), columnBlocks, depthBlocks,
                 tile.sizes.regionFlops});
  parallelParts(plan.threads, plan.threads,
                [&](int64_t member) { job.inTeam(team, static_cast<int>(member)); });
}

/// The panels of bf16 numbers for operands of S.
template <typename S>
using Bf16PanelsOf = std::conditional_t<std::is_same_v<S, Float16>, F16Halves, uint16_t>;
/// Whether products of S with k terms have such panels on this machine.
template <typename S> bool runsInBf16(int64_t k) {
  if constexpr (std::is_same_v<S, BFloat16>)
    return hasBf16Tile();
  else
    return std::is_same_v<S, Float16> && hasF16Tile(k);
}

/// Panels as the tile of E reads them, from a matrix of S.
template <typename S> auto panelSource(const S *base) {
  if constexpr (kIsHalf<S>)
    return &base->bits;
  else
    return base;
}
template <typename E, typename S>
void packA(E *dst, int64_t width, Strided<S> rows, int64_t lanes, int64_t k) {
  if constexpr (!std::is_floating_point_v<E>)
    gemmTile<E>().packA(dst, width, panelSource(rows.base), rows.rowStride, rows.columnStride, lanes, k);
  else
    packPanel(dst, width, rows, lanes, k);
}
template <typename E, typename S>
void packB(E *dst, int64_t width, Strided<S> columns, int64_t lanes, int64_t k) {
  if constexpr (!std::is_floating_point_v<E>)
    gemmTile<E>().packB(dst, width, panelSource(columns.base), columns.rowStride, columns.columnStride, lanes,
                        k);
  else
    packPanel(dst, width, columns, lanes, k);
}

/// C = A B (+ start); A is m x k, B is k x n, rows of C are ldc elements apart. k =
/// 0 gives the start value. With `finish`, that receives the sums and c is not used.
template <typename E, typename S, typename Sum = typename TileSum<E>::type>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, Sum *c, int64_t ldc, GemmStart start,
          const Sum *bias, const GemmFinish<Sum> *finish, void *workspace);

} // namespace kedge::rt::cpu
