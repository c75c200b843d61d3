#include "runtime/cpu/conv/WinogradRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const WinogradRows &winogradRows() {
  return madeForIsa<winogradRowsAvx512, winogradRowsAvx2, winogradRowsBase>();
}

const WinogradLanes &winogradLanes() {
  return madeForIsa<winogradLanesAvx512, winogradLanesAvx2, winogradLanesBase>();
}

} // namespace kedge::rt::cpu
