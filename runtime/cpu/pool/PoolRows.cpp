#include "runtime/cpu/pool/PoolRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const PoolRows<float> &poolRows<float>() { return KEDGE_MADE_FOR_ISA(poolRows, F32); }

template <> const PoolRows<double> &poolRows<double>() { return KEDGE_MADE_FOR_ISA(poolRows, F64); }

} // namespace kedge::rt::cpu
