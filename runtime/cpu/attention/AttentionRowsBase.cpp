#include "runtime/cpu/attention/AttentionRows.inc"

namespace kedge::rt::cpu {

AttentionRows<float> attentionRowsBaseF32() { return makeRows<float, 16>(); }
AttentionRows<double> attentionRowsBaseF64() { return makeRows<double, 16>(); }

} // namespace kedge::rt::cpu
