#include "runtime/cpu/NarrowRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {
namespace {

const NarrowRowsOfBoth &rowsOfThisMachine() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<narrowRowsAvx512>() : isa == Isa::Avx2 ? madeBy<narrowRowsAvx2>() : madeBy<narrowRowsBase>();
}

} // namespace

template <> const NarrowRows &narrowRows<BFloat16>() { return rowsOfThisMachine().bf16; }
template <> const NarrowRows &narrowRows<Float16>() { return rowsOfThisMachine().f16; }

} // namespace kedge::rt::cpu
