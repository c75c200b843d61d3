#include "runtime/cpu/AttentionRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const AttentionRows<float> &attentionRows<float>() {
  static const AttentionRows<float> rows = machineIsa() == Isa::Avx512 ? attentionRowsAvx512F32()
                                           : machineIsa() == Isa::Avx2 ? attentionRowsAvx2F32()
                                                                       : attentionRowsBaseF32();
  return rows;
}

template <> const AttentionRows<double> &attentionRows<double>() {
  static const AttentionRows<double> rows = machineIsa() == Isa::Avx512 ? attentionRowsAvx512F64()
                                            : machineIsa() == Isa::Avx2 ? attentionRowsAvx2F64()
                                                                        : attentionRowsBaseF64();
  return rows;
}

} // namespace kedge::rt::cpu
