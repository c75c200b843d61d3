#include "runtime/cpu/gemm/IntegerTile.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const IntegerTile &integerTile() {
#if defined(__aarch64__)
  return activeIsa() >= Isa::NeonDot ? madeBy<integerTileNeonDot>() : madeBy<integerTileBase>();
#else
  return KEDGE_MADE_FOR_ISA(integerTile, );
#endif
}

} // namespace kedge::rt::cpu
