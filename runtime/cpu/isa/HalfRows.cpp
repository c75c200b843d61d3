#include "runtime/cpu/isa/HalfRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {
namespace {

const HalfRowsOfBoth &rowsOfThisMachine() { return madeForIsa<halfRowsAvx512, halfRowsAvx2, halfRowsBase>(); }

} // namespace

template <> const HalfRows &halfRows<BFloat16>() { return rowsOfThisMachine().bf16; }
template <> const HalfRows &halfRows<Float16>() { return rowsOfThisMachine().f16; }

} // namespace kedge::rt::cpu
