#include "runtime/cpu/DotTile.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const DotTile<float> &dotTile<float>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<dotTileAvx512F32>() : isa == Isa::Avx2 ? madeBy<dotTileAvx2F32>() : madeBy<dotTileBaseF32>();
}

template <> const DotTile<double> &dotTile<double>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<dotTileAvx512F64>() : isa == Isa::Avx2 ? madeBy<dotTileAvx2F64>() : madeBy<dotTileBaseF64>();
}

} // namespace kedge::rt::cpu
