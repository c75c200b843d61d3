#include "runtime/cpu/gemm/GemmTile.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const GemmTile<float> &gemmTile<float>() {
  return madeForIsa<gemmTileAvx512F32, gemmTileAvx2F32, gemmTileBaseF32>();
}

template <> const GemmTile<double> &gemmTile<double>() {
  return madeForIsa<gemmTileAvx512F64, gemmTileAvx2F64, gemmTileBaseF64>();
}

template <> const GemmTile<uint16_t> &gemmTile<uint16_t>() {
  return activeIsa() == Isa::Amx ? kGemmTileAmx : kGemmTileAvx512Bf16;
}

bool hasBf16Tile() { return activeIsa() >= Isa::Avx512Bf16; }

} // namespace kedge::rt::cpu
