// Products of dense matrices: packed panels in the workspace, register tiles, a fixed order of sums.
// Every element of C is a sum over k in blocks of a size that depends on k only, so the bits depend neither
// on the number of threads nor on how the work is cut.
#pragma once
#include "runtime/cpu/GemmPack.h"
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

/// The part of the product that one thread of a team does. All threads of the team call it with equal
/// arguments; `barrier` waits for all. PackA(dst, width, row, rows, k0, kLength) and PackB(dst, width,
/// column, columns, k0, kLength) write a panel.
template <typename T, typename PackA, typename PackB, typename Barrier>
void gemmPart(const GemmPlan &plan, PackA &&packA, PackB &&packB, T *c, int64_t ldc, GemmStart start,
              const T *bias, void *workspace, int thread, int team, Barrier &&barrier) {
  const GemmTile<T> &tile = gemmTile<T>();
  const int NR = tile.columns, MR = tile.rows;
  // The team is a grid: columns of C are shared out only when there are too few rows for all.
  int64_t rowPanels = (plan.m + MR - 1) / MR;
  int teamRows = static_cast<int>(std::clamp<int64_t>(rowPanels, 1, team));
  while (team % teamRows)
    --teamRows;
  int teamColumns = team / teamRows, myRow = thread % teamRows, myColumn = thread / teamRows;
  int64_t rowBegin = rowPanels * myRow / teamRows * MR;
  int64_t rowEnd = std::min(plan.m, rowPanels * (myRow + 1) / teamRows * MR);
  char *base = static_cast<char *>(workspace);
  T *packedA = reinterpret_cast<T *>(base + 2 * plan.panelBBytes + thread * plan.panelABytes);

  int buffer = 0;
  for (int64_t jc = 0; jc < plan.n; jc += plan.nBlock) {
    int64_t nc = std::min(plan.nBlock, plan.n - jc), columnPanels = (nc + NR - 1) / NR;
    int64_t panelBegin = columnPanels * myColumn / teamColumns;
    int64_t panelEnd = columnPanels * (myColumn + 1) / teamColumns;
    for (int64_t pc = 0; pc < plan.k; pc += plan.kBlock, buffer ^= 1) {
      int64_t kc = std::min(plan.kBlock, plan.k - pc);
      T *packedB = reinterpret_cast<T *>(base + buffer * plan.panelBBytes);
      for (int64_t panel = columnPanels * thread / team; panel < columnPanels * (thread + 1) / team; ++panel)
        packB(packedB + panel * NR * kc, NR, jc + panel * NR, std::min<int64_t>(NR, nc - panel * NR), pc, kc);
      bool first = pc == 0, accumulate = !first || start == GemmStart::Keep;
      bool barrierDone = false;
      for (int64_t ic = rowBegin; ic < rowEnd; ic += plan.mBlock) {
        int64_t mc = std::min(plan.mBlock, rowEnd - ic);
        for (int64_t ir = 0; ir < mc; ir += MR) {
          int64_t rows = std::min<int64_t>(MR, mc - ir);
          packA(packedA + ir * kc, tile.panelRows(rows), ic + ir, rows, pc, kc);
        }
        if (!barrierDone)
          barrier();
        barrierDone = true;
        for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
          int64_t column = jc + panel * NR, columns = std::min<int64_t>(NR, nc - panel * NR);
          const T *tileBias = first && start == GemmStart::Bias ? bias + column : nullptr;
          for (int64_t ir = 0; ir < mc; ir += MR)
            tile.run(kc, packedA + ir * kc, packedB + panel * NR * kc, c + (ic + ir) * ldc + column, ldc,
                     static_cast<int>(std::min<int64_t>(MR, mc - ir)), static_cast<int>(columns), accumulate,
                     tileBias);
        }
      }
      if (!barrierDone)
        barrier();
    }
  }
}

/// The whole product by a team of plan.threads, or by the calling thread alone when that is 1.
template <typename T, typename PackA, typename PackB>
void gemmBlocked(const GemmPlan &plan, PackA &&packA, PackB &&packB, T *c, int64_t ldc, GemmStart start,
                 const T *bias, void *workspace) {
  if (plan.threads == 1) {
    gemmPart(plan, packA, packB, c, ldc, start, bias, workspace, 0, 1, [] {});
    return;
  }
#pragma omp parallel num_threads(plan.threads)
  {
    auto barrier = [] {
#pragma omp barrier
    };
    gemmPart(plan, packA, packB, c, ldc, start, bias, workspace, omp_get_thread_num(), omp_get_num_threads(),
             barrier);
  }
}

/// C = A B (+ start); A is m x k, B is k x n, C has rows of ldc elements. k = 0 gives the start value.
template <typename T, typename S>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, T *c, int64_t ldc, GemmStart start, const T *bias,
          void *workspace);

} // namespace kedge::rt::cpu
