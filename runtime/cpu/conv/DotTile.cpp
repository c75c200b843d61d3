#include "runtime/cpu/conv/DotTile.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const DotTile<float> &dotTile<float>() {
  return madeForIsa<dotTileAvx512F32, dotTileAvx2F32, dotTileBaseF32>();
}

template <> const DotTile<double> &dotTile<double>() {
  return madeForIsa<dotTileAvx512F64, dotTileAvx2F64, dotTileBaseF64>();
}

} // namespace kedge::rt::cpu
