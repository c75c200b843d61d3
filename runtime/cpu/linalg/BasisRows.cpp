#include "runtime/cpu/linalg/BasisRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const BasisRows &basisRows() { return KEDGE_MADE_FOR_ISA(basisRows, F64); }

} // namespace kedge::rt::cpu
