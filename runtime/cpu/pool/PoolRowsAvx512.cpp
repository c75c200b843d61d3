#include "runtime/cpu/pool/PoolRows.inc"

namespace kedge::rt::cpu {

PoolRows<float> poolRowsAvx512F32() { return makePool<float, 64>(); }
PoolRows<double> poolRowsAvx512F64() { return makePool<double, 64>(); }

} // namespace kedge::rt::cpu
