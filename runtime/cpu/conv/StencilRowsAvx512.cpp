#include "runtime/cpu/conv/StencilRows.inc"

namespace kedge::rt::cpu {

StencilRows<float> stencilRowsAvx512F32() { return makeStencil<float, 64>(); }
StencilRows<double> stencilRowsAvx512F64() { return makeStencil<double, 64>(); }

} // namespace kedge::rt::cpu
