#include "runtime/cpu/conv/StencilRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const StencilRows<float> &stencilRows<float>() { return KEDGE_MADE_FOR_ISA(stencilRows, F32); }

template <> const StencilRows<double> &stencilRows<double>() { return KEDGE_MADE_FOR_ISA(stencilRows, F64); }

} // namespace kedge::rt::cpu
