#include "runtime/cpu/attention/AttentionRows.inc"

namespace kedge::rt::cpu {

AttentionRows<float> attentionRowsAvx2F32() { return makeRows<float, 32>(); }
AttentionRows<double> attentionRowsAvx2F64() { return makeRows<double, 32>(); }

} // namespace kedge::rt::cpu
