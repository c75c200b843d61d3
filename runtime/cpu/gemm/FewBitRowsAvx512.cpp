#include "runtime/cpu/gemm/FewBitRows.inc"

namespace kedge::rt::cpu {

FewBitRows fewBitRowsAvx512() { return {fourBits, eightBits}; }

} // namespace kedge::rt::cpu
