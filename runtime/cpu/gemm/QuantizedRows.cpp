#include "runtime/cpu/gemm/QuantizedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const QuantizedRows &quantizedRows() {
  return madeForIsa<quantizedRowsAvx512, quantizedRowsAvx2, quantizedRowsBase>();
}

} // namespace kedge::rt::cpu
