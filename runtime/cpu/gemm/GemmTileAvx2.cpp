#include "runtime/cpu/gemm/GemmTile.inc"

namespace kedge::rt::cpu {

GemmTile<float> gemmTileAvx2F32() { return makeTile<float, 32, 2, 2>(); }
GemmTile<double> gemmTileAvx2F64() { return makeTile<double, 32, 2, 2>(); }

} // namespace kedge::rt::cpu
