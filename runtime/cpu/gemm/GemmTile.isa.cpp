#include "runtime/cpu/gemm/GemmTile.inc"
#include "runtime/cpu/isa/EachIsa.h"

namespace kedge::rt::cpu {

GemmTile<float> KEDGE_FOR_ISA(gemmTile, F32)() {
  return makeTile<float, kIsaBytes, kIsaBytes == 64 ? 4 : 2, 2>();
}
GemmTile<double> KEDGE_FOR_ISA(gemmTile, F64)() {
  return makeTile<double, kIsaBytes, kIsaBytes == 64 ? 4 : 2, 2>();
}

} // namespace kedge::rt::cpu
