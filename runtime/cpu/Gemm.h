// Products of dense matrices: packed panels in the workspace, register tiles, a fixed order of sums.
// Every element of C is a sum over k in blocks of a size that depends on k only, so the bits depend neither
// on the number of threads nor on how the work is cut.
#pragma once
#include "runtime/cpu/GemmPack.h"
#include "runtime/cpu/GemmTeam.h"
#include "runtime/cpu/GemmTile.h"
#include "runtime/cpu/Kernel.h"

namespace kedge::rt::cpu {

/// How a product of m x n x k is cut, for elements of `elementBytes` in the tile.
struct GemmPlan {
  int64_t m, n, k;
  int64_t kBlock, nBlock, mBlock;
  int rows, columns; ///< of the tile
  int threads;
  size_t panelABytes, panelBBytes; ///< a thread's A block; one buffer of packed B
  size_t workspaceBytes() const { return panelBBytes * 2 + panelABytes * threads; }
};

/// threads: team size; 1 for a product that runs inside a parallel region.
template <typename T> GemmPlan planGemm(int64_t m, int64_t n, int64_t k, int threads);

/// Start value of C.
enum class GemmStart { Zero, Keep, Bias };

/// A product in the hands of one thread: PackA(dst, width, row, rows, k0, kLength) and PackB(dst, width, column, columns,
/// k0, kLength) write a panel.
template <typename T, typename PackA, typename PackB> struct GemmJob {
  const GemmPlan &plan;
  PackA &packA;
  PackB &packB;
  T *c;
  int64_t ldc;
  GemmStart start;
  const T *bias;
  char *workspace;

  T *packedA(int member) const {
    return reinterpret_cast<T *>(workspace + 2 * plan.panelBBytes + member * plan.panelABytes);
  }
  T *packedB(int64_t buffer) const { return reinterpret_cast<T *>(workspace + buffer * plan.panelBBytes); }

  void packRows(T *packed, int64_t row, int64_t rows, int64_t pc, int64_t kc) const {
    const GemmTile<T> &tile = gemmTile<T>();
    for (int64_t ir = 0; ir < rows; ir += tile.rows) {
      int64_t count = std::min<int64_t>(tile.rows, rows - ir);
      packA(packed + ir * kc, tile.panelRows(count), row + ir, count, pc, kc);
    }
  }

  /// Panels [begin, end) of the nc columns from jc on.
  void packColumns(T *packed, int64_t begin, int64_t end, int64_t jc, int64_t nc, int64_t pc, int64_t kc) const {
    const int NR = gemmTile<T>().columns;
    for (int64_t panel = begin; panel < end; ++panel)
      packB(packed + panel * NR * kc, NR, jc + panel * NR, std::min<int64_t>(NR, nc - panel * NR), pc, kc);
  }

  /// The packed rows times panels [begin, end).
  void multiply(const T *packedRows, int64_t row, int64_t rows, const T *packedColumns, int64_t begin, int64_t end,
                int64_t jc, int64_t nc, int64_t pc, int64_t kc) const {
    const GemmTile<T> &tile = gemmTile<T>();
    const int NR = tile.columns, MR = tile.rows;
    const bool first = pc == 0, accumulate = !first || start == GemmStart::Keep;
    for (int64_t panel = begin; panel < end; ++panel) {
      int64_t column = jc + panel * NR, columns = std::min<int64_t>(NR, nc - panel * NR);
      const T *tileBias = first && start == GemmStart::Bias ? bias + column : nullptr;
      for (int64_t ir = 0; ir < rows; ir += MR)
        tile.run(kc, packedRows + ir * kc, packedColumns + panel * NR * kc, c + (row + ir) * ldc + column, ldc,
                 static_cast<int>(std::min<int64_t>(MR, rows - ir)), static_cast<int>(columns), accumulate, tileBias);
    }
  }

  void alone() const {
    const int NR = gemmTile<T>().columns;
    for (int64_t jc = 0; jc < plan.n; jc += plan.nBlock) {
      int64_t nc = std::min(plan.nBlock, plan.n - jc), columnPanels = (nc + NR - 1) / NR;
      for (int64_t pc = 0; pc < plan.k; pc += plan.kBlock) {
        int64_t kc = std::min(plan.kBlock, plan.k - pc);
        packColumns(packedB(0), 0, columnPanels, jc, nc, pc, kc);
        for (int64_t ic = 0; ic < plan.m; ic += plan.mBlock) {
          int64_t rows = std::min(plan.mBlock, plan.m - ic);
          packRows(packedA(0), ic, rows, pc, kc);
          multiply(packedA(0), ic, rows, packedB(0), 0, columnPanels, jc, nc, pc, kc);
        }
      }
    }
  }

  /// What member `member` of a team does.
  void inTeam(GemmTeam &team, int member) const {
    const int NR = gemmTile<T>().columns, MR = gemmTile<T>().rows;
    T *rowsOfA = packedA(member);
    for (int64_t block = 0; block < team.blocks(); ++block) {
      const int64_t jc = team.columnBlock(block) * plan.nBlock, pc = team.depthBlock(block) * plan.kBlock;
      const int64_t nc = std::min(plan.nBlock, plan.n - jc), columnPanels = (nc + NR - 1) / NR;
      const int64_t kc = std::min(plan.kBlock, plan.k - pc);
      T *columnsOfB = packedB(block & 1);
      team.awaitBuffer(block);
      for (int64_t share; (share = team.claimPack(block)) >= 0; team.packed(block)) {
        const auto [begin, end] = team.packPanels(share, columnPanels);
        packColumns(columnsOfB, begin, end, jc, nc, pc, kc);
      }
      team.awaitPacked(block);
      int64_t held = -1; // row block in rowsOfA
      for (int64_t region; (region = team.claimRegion(block, member)) >= 0; team.computed(block, region)) {
        team.awaitRegion(block, region);
        const auto [begin, end] = team.columnPanels(region, columnPanels);
        const auto [firstPanel, endPanel] = team.rowPanels(region);
        const int64_t rowEnd = std::min(plan.m, endPanel * MR);
        for (int64_t row = firstPanel * MR; row < rowEnd; row += plan.mBlock) {
          const int64_t rows = std::min(plan.mBlock, rowEnd - row);
          const bool isWhole = rows == rowEnd - firstPanel * MR;
          if (!isWhole || held != team.rowBlock(region))
            packRows(rowsOfA, row, rows, pc, kc);
          held = isWhole ? team.rowBlock(region) : -1;
          multiply(rowsOfA, row, rows, columnsOfB, begin, end, jc, nc, pc, kc);
        }
      }
    }
  }
};

/// The whole product by a team of plan.threads, or by the calling thread alone when that is 1.
template <typename T, typename PackA, typename PackB>
void gemmBlocked(const GemmPlan &plan, PackA &&packA, PackB &&packB, T *c, int64_t ldc, GemmStart start,
                 const T *bias, void *workspace) {
  const GemmJob<T, PackA, PackB> job{plan, packA, packB, c, ldc, start, bias, static_cast<char *>(workspace)};
  if (plan.threads == 1)
    return job.alone();
  const auto blocks = [](int64_t size, int64_t block) { return (size + block - 1) / block; };
  GemmTeam team({plan.threads, blocks(plan.m, plan.rows), plan.mBlock / plan.rows,
                 blocks(std::min(plan.n, plan.nBlock), plan.columns),
                 2.0 * plan.rows * plan.columns * static_cast<double>(plan.kBlock), blocks(plan.n, plan.nBlock),
                 blocks(plan.k, plan.kBlock)});
  parallelParts(plan.threads, plan.threads, [&](int64_t member) { job.inTeam(team, static_cast<int>(member)); });
}

/// C = A B (+ start); A is m x k, B is k x n, C has rows of ldc elements. k = 0 gives the start value.
template <typename T, typename S>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, T *c, int64_t ldc, GemmStart start, const T *bias,
          void *workspace);

} // namespace kedge::rt::cpu
