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

bool hasBf16Tile() {
#if defined(__aarch64__)
  return activeIsa() >= Isa::NeonBf16;
#else
  return activeIsa() >= Isa::Avx512Bf16;
#endif
}

} // namespace kedge::rt::cpu
