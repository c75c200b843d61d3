#include "runtime/cpu/attention/AttentionRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const AttentionRows<float> &attentionRows<float>() {
  return KEDGE_MADE_FOR_ISA(attentionRows, F32);
}

template <> const AttentionRows<double> &attentionRows<double>() {
  return KEDGE_MADE_FOR_ISA(attentionRows, F64);
}

} // namespace kedge::rt::cpu
