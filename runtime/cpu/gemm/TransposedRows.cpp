#include "runtime/cpu/gemm/TransposedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

TransposedRows transposedRows() { return activeIsa() >= Isa::Avx512 ? transposedRowsAvx512() : nullptr; }

} // namespace kedge::rt::cpu
