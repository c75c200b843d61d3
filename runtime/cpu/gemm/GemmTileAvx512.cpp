#include "runtime/cpu/gemm/GemmTile.inc"

namespace kedge::rt::cpu {

GemmTile<float> gemmTileAvx512F32() { return makeTile<float, 64, 4, 2>(); }
GemmTile<double> gemmTileAvx512F64() { return makeTile<double, 64, 4, 2>(); }

} // namespace kedge::rt::cpu
