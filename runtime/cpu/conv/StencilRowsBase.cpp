#include "runtime/cpu/conv/StencilRows.inc"

namespace kedge::rt::cpu {

StencilRows<float> stencilRowsBaseF32() { return makeStencil<float, 16>(); }
StencilRows<double> stencilRowsBaseF64() { return makeStencil<double, 16>(); }

} // namespace kedge::rt::cpu
