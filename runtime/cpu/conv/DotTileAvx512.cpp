#include "runtime/cpu/conv/DotTile.inc"

namespace kedge::rt::cpu {

DotTile<float> dotTileAvx512F32() { return makeDots<float, 64>(); }
DotTile<double> dotTileAvx512F64() { return makeDots<double, 64>(); }

} // namespace kedge::rt::cpu
