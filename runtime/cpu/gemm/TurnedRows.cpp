#include "runtime/cpu/gemm/TurnedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

TurnedRows turnedRows() { return activeIsa() >= Isa::Avx512 ? turnedRowsAvx512() : nullptr; }

} // namespace kedge::rt::cpu
