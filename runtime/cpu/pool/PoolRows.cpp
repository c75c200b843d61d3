#include "runtime/cpu/pool/PoolRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const PoolRows<float> &poolRows<float>() {
  return madeForIsa<poolRowsAvx512F32, poolRowsAvx2F32, poolRowsBaseF32>();
}

template <> const PoolRows<double> &poolRows<double>() {
  return madeForIsa<poolRowsAvx512F64, poolRowsAvx2F64, poolRowsBaseF64>();
}

} // namespace kedge::rt::cpu
