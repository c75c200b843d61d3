// What attention multiplies with: the tile of its sums' type, or for bf16 where the machine has AMX the tile
// of bf16, for which weights are rounded. Statistics of the softmax and all sums are fp32 in both.
#pragma once
#include "runtime/calls/Types.h"
#include "runtime/cpu/attention/WeightPanels.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/isa/Isa.h"
#include <cstdlib>
#include <string_view>

namespace kedge::rt::cpu {

template <typename E> constexpr bool kNarrowPanels = std::is_same_v<E, uint16_t>;

template <typename E> const GemmTile<E> &attentionTile() {
  if constexpr (kNarrowPanels<E>)
    return kGemmTileAmx;
  else
    return gemmTile<E>();
}

/// Rows of weights as a panel of B whose k they are. bf16: written to `dst`, behind the last row zeros, for
/// which `weights` has room.
template <typename E, typename T> const E *narrowPairs(T *weights, int64_t rows, E *dst) {
  if constexpr (kNarrowPanels<E>) {
    const GemmTile<E> &tile = attentionTile<E>();
    const int64_t depth = tile.panelDepth(rows);
    std::fill(weights + rows * tile.columns, weights + depth * tile.columns, T(0));
    kWeightPanelsAmx.pairs(dst, weights, depth);
    return dst;
  } else {
    return weights;
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

/// KEDGE_ATTENTION=amx, on a machine that has it: attention of bf16 rounds its weights. Not by default: a
/// step of the golden gpt in fp8 then leaves the bounds of PyTorch's trace.
inline bool roundsWeights() {
  const char *asked = std::getenv("KEDGE_ATTENTION");
  return asked && std::string_view(asked) == "amx" && activeIsa() == Isa::Amx;
}

/// Kernel<S, E> for this machine, made of `arguments`.
template <template <typename, typename> typename Kernel, typename S, typename... Arguments>
std::unique_ptr<LibraryKernel> forPanels(const Arguments &...arguments) {
  using T = calls::Compute<S>;
  auto wide = std::make_unique<Kernel<S, T>>(arguments...);
  if constexpr (std::is_same_v<S, BFloat16>) {
    auto narrow = std::make_unique<Kernel<S, uint16_t>>(arguments...);
    const size_t bytes = std::max(wide->workspaceBytes(), narrow->workspaceBytes());
    if (roundsWeights())
      return std::make_unique<WithWorkspace>(bytes, std::move(narrow));
    return std::make_unique<WithWorkspace>(bytes, std::move(wide));
  }
  return wide;
}

} // namespace kedge::rt::cpu
