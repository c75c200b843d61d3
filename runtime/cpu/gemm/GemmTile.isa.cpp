#include "runtime/cpu/gemm/GemmTile.inc"
#include "runtime/cpu/isa/EachIsa.h"

namespace kedge::rt::cpu {

GemmTile<float> KEDGE_FOR_ISA(gemmTile, F32)() {
  return makeTile<float, kIsaBytes, kTileStep, kTileVectors>();
}
GemmTile<double> KEDGE_FOR_ISA(gemmTile, F64)() {
  return makeTile<double, kIsaBytes, kTileStep, kTileVectors>();
}

} // namespace kedge::rt::cpu
