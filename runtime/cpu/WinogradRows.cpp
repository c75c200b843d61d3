#include "runtime/cpu/WinogradRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

const WinogradRows &winogradRows() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<winogradRowsAvx512>() : isa == Isa::Avx2 ? madeBy<winogradRowsAvx2>() : madeBy<winogradRowsBase>();
}

const WinogradLanes &winogradLanes() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<winogradLanesAvx512>() : isa == Isa::Avx2 ? madeBy<winogradLanesAvx2>() : madeBy<winogradLanesBase>();
}

} // namespace kedge::rt::cpu
