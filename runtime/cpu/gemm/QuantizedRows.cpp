#include "runtime/cpu/gemm/QuantizedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const QuantizedRows &quantizedRows() { return KEDGE_MADE_FOR_ISA(quantizedRows, ); }

} // namespace kedge::rt::cpu
