#include "runtime/cpu/isa/NarrowRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {
namespace {

const NarrowRowsOfBoth &rowsOfThisMachine() {
  return madeForIsa<narrowRowsAvx512, narrowRowsAvx2, narrowRowsBase>();
}

} // namespace

template <> const NarrowRows &narrowRows<BFloat16>() { return rowsOfThisMachine().bf16; }
template <> const NarrowRows &narrowRows<Float16>() { return rowsOfThisMachine().f16; }

} // namespace kedge::rt::cpu
