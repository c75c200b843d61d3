#include "runtime/cpu/GemmTile.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const GemmTile<float> &gemmTile<float>() {
  static const GemmTile<float> tile = machineIsa() == Isa::Avx512 ? gemmTileAvx512F32()
                                      : machineIsa() == Isa::Avx2 ? gemmTileAvx2F32()
                                                                  : gemmTileBaseF32();
  return tile;
}

template <> const GemmTile<double> &gemmTile<double>() {
  static const GemmTile<double> tile = machineIsa() == Isa::Avx512 ? gemmTileAvx512F64()
                                       : machineIsa() == Isa::Avx2 ? gemmTileAvx2F64()
                                                                   : gemmTileBaseF64();
  return tile;
}

} // namespace kedge::rt::cpu
