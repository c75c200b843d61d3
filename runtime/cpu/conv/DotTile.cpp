#include "runtime/cpu/conv/DotTile.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const DotTile<float> &dotTile<float>() { return KEDGE_MADE_FOR_ISA(dotTile, F32); }

template <> const DotTile<double> &dotTile<double>() { return KEDGE_MADE_FOR_ISA(dotTile, F64); }

} // namespace kedge::rt::cpu
