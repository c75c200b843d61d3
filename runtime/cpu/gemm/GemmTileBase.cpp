#include "runtime/cpu/gemm/GemmTile.inc"

namespace kedge::rt::cpu {

GemmTile<float> gemmTileBaseF32() { return makeTile<float, 16, 2, 2>(); }
GemmTile<double> gemmTileBaseF64() { return makeTile<double, 16, 2, 2>(); }

} // namespace kedge::rt::cpu
