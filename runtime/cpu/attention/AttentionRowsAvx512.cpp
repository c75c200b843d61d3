#include "runtime/cpu/attention/AttentionRows.inc"

namespace kedge::rt::cpu {

AttentionRows<float> attentionRowsAvx512F32() { return makeRows<float, 64>(); }
AttentionRows<double> attentionRowsAvx512F64() { return makeRows<double, 64>(); }

} // namespace kedge::rt::cpu
