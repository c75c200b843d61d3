#include "runtime/cpu/gemm/GemmTile.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const GemmTile<float> &gemmTile<float>() { return KEDGE_MADE_FOR_ISA(gemmTile, F32); }

template <> const GemmTile<double> &gemmTile<double>() { return KEDGE_MADE_FOR_ISA(gemmTile, F64); }

template <> const GemmTile<uint16_t> &gemmTile<uint16_t>() {
#if defined(__aarch64__)
  return kGemmTileNeonBf16;
#else
  return activeIsa() == Isa::Amx ? kGemmTileAmx : kGemmTileAvx512Bf16;
#endif
}

template <> const GemmTile<F16Halves> &gemmTile<F16Halves>() { return kGemmTileAmxF16; }

bool hasF16Tile([[maybe_unused]] int64_t k) {
#if defined(__aarch64__)
  return false;
#else
  constexpr int64_t kFewest = 32; // below it most of a step would be zeros
  return k >= kFewest && activeIsa() == Isa::Amx;
#endif
}

bool hasBf16Tile() {
#if defined(__aarch64__)
  return activeIsa() >= Isa::NeonBf16;
#else
  return activeIsa() >= Isa::Avx512Bf16;
#endif
}

} // namespace kedge::rt::cpu
