// What attention multiplies with: the tile of its sums' type, or for bf16 where the machine has AMX the tile
// of bf16. A weight is the sum of two numbers there (WeightPanels.h), as one would lose what fp32 keeps: the
// fp8 run of a GPT then left PyTorch's trace. Statistics of the softmax and all sums are fp32.
#pragma once
#include "runtime/calls/Types.h"
#include "runtime/cpu/attention/WeightPanels.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <typename E> constexpr bool kNarrowPanels = std::is_same_v<E, uint16_t>;

template <typename E> const GemmTile<E> &attentionTile() {
  if constexpr (kNarrowPanels<E>)
    return kGemmTileAmx;
  else
    return gemmTile<E>();
}

/// A panel of B, or for bf16 the two whose products add up.
template <typename E> struct WeightsOfB {
  const E *panel, *rest = nullptr;
};

/// Rows of weights as a panel of B whose k they are. bf16: written to `dst` and over the weights, after the
/// last row zeros, for which `weights` has room.
template <typename E, typename T> WeightsOfB<E> weightsOfB(T *weights, int64_t rows, E *dst) {
  if constexpr (kNarrowPanels<E>) {
    const GemmTile<E> &tile = attentionTile<E>();
    const int64_t depth = tile.panelDepth(rows);
    std::fill(weights + rows * tile.columns, weights + depth * tile.columns, T(0));
    E *rest = reinterpret_cast<E *>(weights);
    kWeightPanelsAmx.pairs(dst, rest, weights, depth);
    return {dst, rest};
  } else {
    return {weights};
  }
}

/// A kernel with the workspace of another that has the largest on any machine: plans do not depend on the
/// machine that makes them.
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

/// Kernel<S, E> for this machine, made of `arguments`.
template <template <typename, typename> typename Kernel, typename S, typename... Arguments>
std::unique_ptr<LibraryKernel> forPanels(const Arguments &...arguments) {
  using T = calls::Compute<S>;
  auto wide = std::make_unique<Kernel<S, T>>(arguments...);
  if constexpr (std::is_same_v<S, BFloat16>) {
    auto narrow = std::make_unique<Kernel<S, uint16_t>>(arguments...);
    const size_t bytes = std::max(wide->workspaceBytes(), narrow->workspaceBytes());
    if (activeIsa() == Isa::Amx)
      return std::make_unique<WithWorkspace>(bytes, std::move(narrow));
    return std::make_unique<WithWorkspace>(bytes, std::move(wide));
  }
  return wide;
}

} // namespace kedge::rt::cpu
