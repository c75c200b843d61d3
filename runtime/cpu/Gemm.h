// Products of dense matrices: packed panels in the workspace, register tiles, a fixed order of sums.
// Every element of C is a sum over k in blocks of a size that depends on k only, so the bits depend neither
// on the number of threads nor on how the work is cut.
#pragma once
#include "runtime/cpu/GemmPack.h"
#include "runtime/cpu/GemmTile.h"
#include "runtime/cpu/Kernel.h"

namespace kedge::rt::cpu {

/// How a product of m x n x k is cut, for panels of E in the tile.
struct GemmPlan {
  int64_t m, n, k;
  int64_t kBlock, nBlock, mBlock;
  int threads;
  size_t panelABytes, panelBBytes; ///< a thread's A block; one buffer of packed B
  size_t sumBytes;                 ///< sums of nBlock columns that wait for their next block of k
  size_t workspaceBytes() const { return panelBBytes * 2 + panelABytes * threads + sumBytes; }
};

/// threads: team size; 1 for a product that runs inside a parallel region. `finishes`: tiles go to a GemmFinish.
template <typename E> GemmPlan planGemm(int64_t m, int64_t n, int64_t k, int threads, bool finishes = false);

/// Workspace of a product of operands of S on any machine: it is planned at compile time.
template <typename S> size_t gemmWorkspaceBytes(int64_t m, int64_t n, int64_t k, int threads, bool finishes);

/// Start value of C.
enum class GemmStart { Zero, Keep, Bias };

/// Takes the sums of a tile, rows of `stride`, which are C from (row, column) on, once each and from any thread.
template <typename Sum> struct GemmFinish {
  void (*tile)(const void *context, const Sum *sums, int64_t stride, int64_t row, int64_t column, int64_t rows,
               int64_t columns);
  const void *context;
};

constexpr int64_t kMostTileElements = 32 * 32;

/// The part of the product that one thread of a team does. All threads of the team call it with equal
/// arguments; `barrier` waits for all. PackA(dst, width, row, rows, k0, kLength) and PackB(dst, width,
/// column, columns, k0, kLength) write a panel. With `finish` C is not written, and start is not Keep.
template <typename E, typename PackA, typename PackB, typename Sum, typename Barrier>
void gemmPart(const GemmPlan &plan, PackA &&packA, PackB &&packB, Sum *c, int64_t ldc, GemmStart start,
              const Sum *bias, const GemmFinish<Sum> *finish, void *workspace, int thread, int team,
              Barrier &&barrier) {
  const GemmTile<E> &tile = gemmTile<E>();
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
  E *packedA = reinterpret_cast<E *>(base + 2 * plan.panelBBytes + thread * plan.panelABytes);
  if (finish) {
    c = reinterpret_cast<Sum *>(base + 2 * plan.panelBBytes + plan.threads * plan.panelABytes);
    ldc = plan.nBlock;
  }
  alignas(64) Sum finished[kMostTileElements];

  int buffer = 0;
  for (int64_t jc = 0; jc < plan.n; jc += plan.nBlock) {
    int64_t nc = std::min(plan.nBlock, plan.n - jc), columnPanels = (nc + NR - 1) / NR;
    int64_t panelBegin = columnPanels * myColumn / teamColumns;
    int64_t panelEnd = columnPanels * (myColumn + 1) / teamColumns;
    for (int64_t pc = 0; pc < plan.k; pc += plan.kBlock, buffer ^= 1) {
      int64_t kc = std::min(plan.kBlock, plan.k - pc), depth = tile.panelDepth(kc);
      E *packedB = reinterpret_cast<E *>(base + buffer * plan.panelBBytes);
      for (int64_t panel = columnPanels * thread / team; panel < columnPanels * (thread + 1) / team; ++panel)
        packB(packedB + panel * NR * depth, NR, jc + panel * NR, std::min<int64_t>(NR, nc - panel * NR), pc, kc);
      bool first = pc == 0, accumulate = !first || start == GemmStart::Keep, last = pc + kc == plan.k;
      bool barrierDone = false;
      for (int64_t ic = rowBegin; ic < rowEnd; ic += plan.mBlock) {
        int64_t mc = std::min(plan.mBlock, rowEnd - ic);
        for (int64_t ir = 0; ir < mc; ir += MR) {
          int64_t rows = std::min<int64_t>(MR, mc - ir);
          packA(packedA + ir * depth, tile.panelRows(rows), ic + ir, rows, pc, kc);
        }
        if (!barrierDone)
          barrier();
        barrierDone = true;
        for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
          int64_t column = jc + panel * NR, columns = std::min<int64_t>(NR, nc - panel * NR);
          const Sum *tileBias = first && start == GemmStart::Bias ? bias + column : nullptr;
          for (int64_t ir = 0; ir < mc; ir += MR) {
            int64_t row = ic + ir, rows = std::min<int64_t>(MR, mc - ir), stride = ldc;
            Sum *sums = c + row * ldc + (finish ? column - jc : column);
            if (finish && first && last)
              sums = finished, stride = NR;
            tile.run(depth, packedA + ir * depth, packedB + panel * NR * depth, sums, stride,
                     static_cast<int>(rows), static_cast<int>(columns), accumulate, tileBias);
            if (finish && last)
              finish->tile(finish->context, sums, stride, row, column, rows, columns);
          }
        }
      }
      if (!barrierDone)
        barrier();
    }
  }
}

/// The whole product by a team of plan.threads, or by the calling thread alone when that is 1.
template <typename E, typename PackA, typename PackB, typename Sum>
void gemmBlocked(const GemmPlan &plan, PackA &&packA, PackB &&packB, Sum *c, int64_t ldc, GemmStart start,
                 const Sum *bias, const GemmFinish<Sum> *finish, void *workspace) {
  if (plan.threads == 1) {
    gemmPart<E>(plan, packA, packB, c, ldc, start, bias, finish, workspace, 0, 1, [] {});
    return;
  }
#pragma omp parallel num_threads(plan.threads)
  {
    auto barrier = [] {
#pragma omp barrier
    };
    gemmPart<E>(plan, packA, packB, c, ldc, start, bias, finish, workspace, omp_get_thread_num(),
                omp_get_num_threads(), barrier);
  }
}

/// Panels as the tile of E wants them, from a matrix of S. E is uint16_t for S = BFloat16 in the machine's own tile.
template <typename E, typename S> void packA(E *dst, int64_t width, Strided<S> rows, int64_t lanes, int64_t k) {
  if constexpr (std::is_same_v<E, uint16_t>)
    gemmTile<E>().packA(dst, width, &rows.base->bits, rows.rowStride, rows.columnStride, lanes, k);
  else
    packPanel(dst, width, rows, lanes, k);
}
template <typename E, typename S> void packB(E *dst, int64_t width, Strided<S> columns, int64_t lanes, int64_t k) {
  if constexpr (std::is_same_v<E, uint16_t>)
    gemmTile<E>().packB(dst, width, &columns.base->bits, columns.rowStride, columns.columnStride, lanes, k);
  else
    packPanel(dst, width, columns, lanes, k);
}

/// C = A B (+ start); A is m x k, B is k x n, C has rows of ldc elements. k = 0 gives the start value.
/// With `finish` it takes the sums, and c is not used.
template <typename E, typename S, typename Sum = typename TileSum<E>::type>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, Sum *c, int64_t ldc, GemmStart start, const Sum *bias,
          const GemmFinish<Sum> *finish, void *workspace);

} // namespace kedge::rt::cpu
