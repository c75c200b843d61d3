#include "runtime/cpu/isa/HalfRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {
namespace {

const HalfRowsOfBoth &rowsOfThisMachine() {
#if defined(__x86_64__)
  return madeForIsa<halfRowsAvx512, halfRowsAvx2, halfRowsBase>();
#else
  return madeBy<halfRowsBase>();
#endif
}

} // namespace

template <> const HalfRows &halfRows<BFloat16>() { return rowsOfThisMachine().bf16; }
template <> const HalfRows &halfRows<Float16>() { return rowsOfThisMachine().f16; }

} // namespace kedge::rt::cpu
