#include "runtime/cpu/pool/PoolRows.inc"

namespace kedge::rt::cpu {

PoolRows<float> poolRowsBaseF32() { return makePool<float, 16>(); }
PoolRows<double> poolRowsBaseF64() { return makePool<double, 16>(); }

} // namespace kedge::rt::cpu
