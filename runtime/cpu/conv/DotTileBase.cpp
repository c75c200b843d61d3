#include "runtime/cpu/conv/DotTile.inc"

namespace kedge::rt::cpu {

DotTile<float> dotTileBaseF32() { return makeDots<float, 16>(); }
DotTile<double> dotTileBaseF64() { return makeDots<double, 16>(); }

} // namespace kedge::rt::cpu
