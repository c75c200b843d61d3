#include "runtime/cpu/GemmTile.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const GemmTile<float> &gemmTile<float>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<gemmTileAvx512F32>() : isa == Isa::Avx2 ? madeBy<gemmTileAvx2F32>() : madeBy<gemmTileBaseF32>();
}

template <> const GemmTile<double> &gemmTile<double>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<gemmTileAvx512F64>() : isa == Isa::Avx2 ? madeBy<gemmTileAvx2F64>() : madeBy<gemmTileBaseF64>();
}

template <> const GemmTile<uint16_t> &gemmTile<uint16_t>() {
  return activeIsa() == Isa::Amx ? kGemmTileAmx : kGemmTileAvx512Bf16;
}

bool hasBf16Tile() { return activeIsa() >= Isa::Avx512Bf16; }

} // namespace kedge::rt::cpu
