#include "runtime/cpu/conv/WinogradRows.inc"

namespace kedge::rt::cpu {

WinogradRows winogradRowsAvx512() { return makeWinograd<64>(); }
WinogradLanes winogradLanesAvx512() { return makeWinogradLanes<64>(); }

} // namespace kedge::rt::cpu
