#include "runtime/cpu/FewBitRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

const FewBitRows &fewBitRows() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<fewBitRowsAvx512>() : isa == Isa::Avx2 ? madeBy<fewBitRowsAvx2>() : madeBy<fewBitRowsBase>();
}

} // namespace kedge::rt::cpu
