#include "runtime/cpu/gemm/FewBitRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const FewBitRows &fewBitRows() {
  return madeForIsa<fewBitRowsAvx512, fewBitRowsAvx2, fewBitRowsBase>();
}

} // namespace kedge::rt::cpu
