#include "runtime/cpu/gemm/FewBitRows.inc"

namespace kedge::rt::cpu {

FewBitRows fewBitRowsBase() { return {fourBits, eightBits}; }

} // namespace kedge::rt::cpu
