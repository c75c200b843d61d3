#include "runtime/cpu/pool/PoolRows.inc"

namespace kedge::rt::cpu {

PoolRows<float> poolRowsAvx2F32() { return makePool<float, 32>(); }
PoolRows<double> poolRowsAvx2F64() { return makePool<double, 32>(); }

} // namespace kedge::rt::cpu
