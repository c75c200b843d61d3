#if defined(__F16C__)
#include "runtime/cpu/isa/HalfConversions.inc"
#else
#include "runtime/cpu/isa/HalfRows.h"
#endif

namespace kedge::rt::cpu {

#if defined(__F16C__)
HalfRowsOfBoth halfRowsAvx512() { return {kBf16Rows, kF16Rows}; }
#else
HalfRowsOfBoth halfRowsAvx512() { return halfRowsBase(); }
#endif

} // namespace kedge::rt::cpu
