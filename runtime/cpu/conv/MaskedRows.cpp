#include "runtime/cpu/conv/MaskedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

MaskedRows maskedRows() { return activeIsa() >= Isa::Avx512 ? maskedRowsAvx512() : nullptr; }

} // namespace kedge::rt::cpu
