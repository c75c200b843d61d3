#include "runtime/cpu/gemm/Gemm.h"

namespace kedge::rt::cpu {
namespace {

/// Parts of equal size, a multiple of `unit`, none above `most`.
int64_t evenBlock(int64_t size, int64_t most, int64_t unit) {
  int64_t parts = std::max<int64_t>(1, (size + most - 1) / most);
  return std::max(unit, ((size + parts - 1) / parts + unit - 1) / unit * unit);
}

int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// A product on one thread that packs all of A first may take so narrow blocks of B that they stay in the L2.
constexpr size_t kMostKeptA = 1280 << 10;
constexpr int64_t kColumnsBesideA = 320;

/// kBlock: terms of a block.
template <typename E>
GemmPlan planInBlocks(const GemmTile<E> &tile, int64_t m, int64_t n, int64_t k, int64_t kBlock, int threads,
                      bool finishes) {
  const int64_t mostA = tile.sizes.bytesA / static_cast<int64_t>(sizeof(E)),
                mostB = tile.sizes.bytesB / static_cast<int64_t>(sizeof(E));
  GemmPlan plan{};
  plan.m = m, plan.n = n, plan.k = k, plan.parts = 1;
  plan.threads = m * n * k < 100'000 ? 1 : threads;
  plan.kBlock = kBlock;
  const int64_t rows = std::clamp<int64_t>(mostA / plan.kBlock, tile.rows, tile.sizes.rows);
  const int64_t columns = std::clamp<int64_t>(mostB / plan.kBlock, tile.columns, tile.sizes.columns);
  plan.nBlock = evenBlock(n, columns, tile.columns);
  plan.mBlock = evenBlock(std::min(m, rows), rows, tile.rows);
  plan.panelABytes = alignedBytes(sizeof(E) * plan.mBlock * plan.kBlock);
  plan.blocksA = blocksOf(m, plan.mBlock) * blocksOf(k, plan.kBlock);
  plan.keepsA = plan.threads == 1 && n > 2 * kColumnsBesideA && plan.panelABytes * plan.blocksA <= kMostKeptA;
  if (plan.keepsA)
    plan.nBlock = evenBlock(n, kColumnsBesideA, tile.columns);
  plan.panelBBytes = alignedBytes(sizeof(E) * plan.nBlock * plan.kBlock);
  if (finishes && k > plan.kBlock)
    plan.sumBytes = alignedBytes(sizeof(typename TileSum<E>::type) * m * plan.nBlock);
  return plan;
}

template <typename E>
GemmPlan planFor(const GemmTile<E> &tile, int64_t m, int64_t n, int64_t k, int threads, bool finishes) {
  return planInBlocks(tile, m, n, k, evenBlock(k, tile.mostK, std::max(4, tile.depth)), threads, finishes);
}

template <typename Sum>
void startOnly(const GemmPlan &plan, Sum *c, int64_t ldc, GemmStart start, const Sum *bias,
               const GemmFinish<Sum> *finish) {
  if (start == GemmStart::Keep)
    return;
  for (int64_t i = 0; i < plan.m; ++i)
    for (int64_t j = 0; j < plan.n; ++j) {
      Sum value = start == GemmStart::Bias ? bias[j] : Sum(0);
      if (finish)
        finish->tile(finish->context, &value, 1, i, j, 1, 1);
      else
        c[i * ldc + j] = value;
    }
}

/// Packs panels of a matrix, one or several.
template <typename E, typename S> struct MatrixPanels {
  Strided<S> source;
  void (*pack)(E *dst, int64_t width, Strided<S> lanes, int64_t count, int64_t k);
  typename GemmTile<E>::PackFour packFour;

  void operator()(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    pack(dst, width, source.at(first, k0), lanes, length);
  }
  int64_t neighbours(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    if constexpr (!std::is_floating_point_v<E>) {
      if (!packFour || source.rowStride != 1 || lanes < 4 * width)
        return 0;
      packFour(dst, panelSource(source.at(first, k0).base), source.columnStride, length);
      return 4;
    } else {
      return packNeighbours(dst, width, source.at(first, k0), lanes, length);
    }
  }
};

} // namespace

template <typename E> GemmPlan planGemm(int64_t m, int64_t n, int64_t k, int threads, bool finishes) {
  return planFor(gemmTile<E>(), m, n, k, threads, finishes);
}

template <typename E>
GemmPlan planGemmOfChain(int64_t m, int64_t n, int64_t k, int64_t chain, bool backwards, int threads) {
  const GemmTile<E> &tile = gemmTile<E>();
  GemmPlan plan =
      planInBlocks(tile, m, n, k, evenBlock(k, tile.mostK / chain * chain, chain), threads, false);
  plan.chain = chain, plan.backwards = backwards;
  return plan;
}

template <typename E> GemmPlan planGemmOfParts(int64_t m, int64_t n, int64_t k, int64_t parts, int threads) {
  constexpr int64_t kMostA = (1024 << 10) / sizeof(E), kMostB = (6 << 20) / sizeof(E);
  const GemmTile<E> &tile = gemmTile<E>();
  GemmPlan plan{};
  plan.m = m, plan.n = n, plan.k = k, plan.parts = parts;
  plan.threads = m * n * k < 100'000 ? 1 : threads;
  plan.kBlock = k;
  const int64_t depth = parts * tile.panelDepth(k / parts);
  plan.nBlock = evenBlock(n, std::max<int64_t>(kMostB / depth, tile.columns), tile.columns);
  const int64_t rows = std::max<int64_t>(kMostA / depth, tile.rows);
  plan.mBlock = evenBlock(std::min(m, rows), rows, tile.rows);
  plan.panelABytes = alignedBytes(sizeof(E) * plan.mBlock * depth);
  plan.blocksA = blocksOf(m, plan.mBlock);
  plan.panelBBytes = alignedBytes(sizeof(E) * plan.nBlock * depth);
  return plan;
}

template <typename S> using FloatOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

/// Calls f with each tile of bf16 numbers that operands of S may meet on some machine.
template <typename S, typename F> void forBf16Tiles(F &&f) {
  if constexpr (std::is_same_v<S, BFloat16>)
    f(kGemmTileAvx512Bf16), f(kGemmTileAmx);
  else if constexpr (std::is_same_v<S, Float16>)
    f(kGemmTileAmxF16);
}

template <typename S> size_t gemmPanelRowBytes(int64_t k) {
  size_t bytes = sizeof(FloatOf<S>) * planGemm<FloatOf<S>>(1, 1, k, 1).kBlock;
  forBf16Tiles<S>([&]<typename E>(const GemmTile<E> &tile) {
    bytes = std::max<size_t>(bytes, sizeof(E) * planFor(tile, 1, 1, k, 1, false).kBlock);
  });
  return bytes;
}

template <typename S> size_t gemmWorkspaceBytes(int64_t m, int64_t n, int64_t k, int threads, bool finishes) {
  size_t bytes = planGemm<FloatOf<S>>(m, n, k, threads, finishes).workspaceBytes();
  forBf16Tiles<S>([&](const auto &tile) {
    bytes = std::max(bytes, planFor(tile, m, n, k, threads, finishes).workspaceBytes());
  });
  return bytes;
}

template <typename E, typename S, typename Sum>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, Sum *c, int64_t ldc, GemmStart start,
          const Sum *bias, const GemmFinish<Sum> *finish, void *workspace) {
  if (plan.m == 0 || plan.n == 0)
    return;
  if (plan.k == 0) {
    startOnly(plan, c, ldc, start, bias, finish);
    return;
  }
  const MatrixPanels<E, S> rows{a, packA<E, S>, gemmTile<E>().packFourA},
      columns{b.transposed(), packB<E, S>, gemmTile<E>().packFourB};
  gemmBlocked<E>(plan, rows, columns, c, ldc, start, bias, finish, workspace);
}

template GemmPlan planGemm<float>(int64_t, int64_t, int64_t, int, bool);
template GemmPlan planGemm<double>(int64_t, int64_t, int64_t, int, bool);
template GemmPlan planGemm<uint16_t>(int64_t, int64_t, int64_t, int, bool);
template GemmPlan planGemm<F16Halves>(int64_t, int64_t, int64_t, int, bool);
template GemmPlan planGemmOfParts<float>(int64_t, int64_t, int64_t, int64_t, int);
template GemmPlan planGemmOfChain<float>(int64_t, int64_t, int64_t, int64_t, bool, int);

template size_t gemmPanelRowBytes<float>(int64_t);
template size_t gemmPanelRowBytes<double>(int64_t);
template size_t gemmPanelRowBytes<Float16>(int64_t);
template size_t gemmPanelRowBytes<BFloat16>(int64_t);

template size_t gemmWorkspaceBytes<float>(int64_t, int64_t, int64_t, int, bool);
template size_t gemmWorkspaceBytes<double>(int64_t, int64_t, int64_t, int, bool);
template size_t gemmWorkspaceBytes<Float16>(int64_t, int64_t, int64_t, int, bool);
template size_t gemmWorkspaceBytes<BFloat16>(int64_t, int64_t, int64_t, int, bool);

template void gemm<float>(const GemmPlan &, Strided<float>, Strided<float>, float *, int64_t, GemmStart,
                          const float *, const GemmFinish<float> *, void *);
template void gemm<float>(const GemmPlan &, Strided<Float16>, Strided<Float16>, float *, int64_t, GemmStart,
                          const float *, const GemmFinish<float> *, void *);
template void gemm<float>(const GemmPlan &, Strided<BFloat16>, Strided<BFloat16>, float *, int64_t, GemmStart,
                          const float *, const GemmFinish<float> *, void *);
template void gemm<uint16_t>(const GemmPlan &, Strided<BFloat16>, Strided<BFloat16>, float *, int64_t,
                             GemmStart, const float *, const GemmFinish<float> *, void *);
template void gemm<F16Halves>(const GemmPlan &, Strided<Float16>, Strided<Float16>, float *, int64_t,
                              GemmStart, const float *, const GemmFinish<float> *, void *);
template void gemm<double>(const GemmPlan &, Strided<double>, Strided<double>, double *, int64_t, GemmStart,
                           const double *, const GemmFinish<double> *, void *);

} // namespace kedge::rt::cpu
