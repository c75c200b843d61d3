// What attention multiplies with: the tile of its sums' type, or for 16 bits where the machine has AMX a tile
// of bf16 numbers. A weight is the sum of two there (WeightPanels.h), as one would lose what fp32 keeps: the
// fp8 run of a GPT then left PyTorch's trace. Statistics of the softmax and all sums are fp32.
#pragma once
#include "runtime/calls/Types.h"
#include "runtime/cpu/attention/WeightPanels.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <typename E> constexpr bool kHalfPanels = !std::is_floating_point_v<E>;
/// The second numbers of weights are panels of their own: those of bf16 operands have one number.
template <typename E> constexpr bool kRestApart = std::is_same_v<E, uint16_t>;

template <typename E> const GemmTile<E> &attentionTile() {
  if constexpr (kRestApart<E>)
    return kGemmTileAmx;
  else
    return gemmTile<E>();
}

/// Terms that a tile of floats adds up in one chain, at least; a longer product ends in sums of chains. Tiles
/// of AMX have one chain.
constexpr int64_t kTileChain = 64;

/// A panel of B, or the two whose products add up.
template <typename E> struct WeightsOfB {
  const E *panel, *rest = nullptr;
};

/// Rows of weights as a panel of B whose k they are. In 16 bits: written to `dst` and, if apart, over the
/// weights, after the last row zeros, for which `weights` has room.
template <typename E, typename T> WeightsOfB<E> weightsOfB(T *weights, int64_t rows, E *dst) {
  if constexpr (!kHalfPanels<E>) {
    return {weights};
  } else {
    const GemmTile<E> &tile = attentionTile<E>();
    const int64_t depth = tile.panelDepth(rows), step = tile.depth * tile.columns;
    std::fill(weights + rows * tile.columns, weights + depth * tile.columns, T(0));
    if constexpr (kRestApart<E>) {
      E *rest = reinterpret_cast<E *>(weights);
      kWeightPanelsAmx.pairs(dst, rest, weights, depth);
      return {dst, rest};
    }
    for (int64_t at = 0; at < depth * tile.columns; at += step) {
      auto *first = reinterpret_cast<uint16_t *>(dst + at);
      kWeightPanelsAmx.pairs(first, first + step, weights + at, tile.depth);
    }
    return {dst};
  }
}

/// A kernel with the workspace of another that may take its place: a plan for AMX holds on machines without
/// it.
class WithWorkspace final : public LibraryKernel {
public:
  WithWorkspace(size_t bytes, std::unique_ptr<LibraryKernel> kernel)
      : bytes_(bytes), kernel_(std::move(kernel)) {}
  size_t workspaceBytes() const override { return bytes_; }
  void run(Inputs in, Outputs out, void *workspace) override { kernel_->run(in, out, workspace); }

private:
  size_t bytes_;
  std::unique_ptr<LibraryKernel> kernel_;
};

/// Panels of halves of fp16 are as large as those of fp32, and padded: with short heads or few keys they
/// would take more workspace than they are worth.
constexpr double kMostWorkspace = 1.25; // of fp32's

/// Kernel<S, E> for this machine, made of `arguments`.
template <template <typename, typename> typename Kernel, typename S, typename... Arguments>
std::unique_ptr<LibraryKernel> forPanels(const Arguments &...arguments) {
  using T = calls::Compute<S>;
  auto wide = std::make_unique<Kernel<S, T>>(arguments...);
  if constexpr (kIsHalf<S>) {
    auto narrow = std::make_unique<Kernel<S, Bf16PanelsOf<S>>>(arguments...);
    const size_t ofWide = wide->workspaceBytes(), ofNarrow = narrow->workspaceBytes();
    if (std::is_same_v<S, Float16> &&
        static_cast<double>(ofNarrow) > kMostWorkspace * static_cast<double>(ofWide))
      return wide;
    if (activeIsa() == Isa::Amx)
      return std::make_unique<WithWorkspace>(std::max(ofWide, ofNarrow), std::move(narrow));
  }
  return wide;
}

} // namespace kedge::rt::cpu
