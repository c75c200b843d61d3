#if defined(__F16C__)
#include "runtime/cpu/isa/NarrowHalves.inc"
#else
#include "runtime/cpu/isa/NarrowRows.h"
#endif

namespace kedge::rt::cpu {

#if defined(__F16C__)
NarrowRowsOfBoth narrowRowsAvx2() { return {kBf16Rows, kF16Rows}; }
#else
NarrowRowsOfBoth narrowRowsAvx2() { return narrowRowsBase(); }
#endif

} // namespace kedge::rt::cpu
