#include "runtime/cpu/conv/DotTile.inc"

namespace kedge::rt::cpu {

DotTile<float> dotTileAvx2F32() { return makeDots<float, 32>(); }
DotTile<double> dotTileAvx2F64() { return makeDots<double, 32>(); }

} // namespace kedge::rt::cpu
