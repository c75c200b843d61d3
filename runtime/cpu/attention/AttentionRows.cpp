#include "runtime/cpu/attention/AttentionRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const AttentionRows<float> &attentionRows<float>() {
  return madeForIsa<attentionRowsAvx512F32, attentionRowsAvx2F32, attentionRowsBaseF32>();
}

template <> const AttentionRows<double> &attentionRows<double>() {
  return madeForIsa<attentionRowsAvx512F64, attentionRowsAvx2F64, attentionRowsBaseF64>();
}

} // namespace kedge::rt::cpu
