#include "runtime/cpu/conv/StencilRows.inc"

namespace kedge::rt::cpu {

StencilRows<float> stencilRowsAvx2F32() { return makeStencil<float, 32>(); }
StencilRows<double> stencilRowsAvx2F64() { return makeStencil<double, 32>(); }

} // namespace kedge::rt::cpu
