#include "runtime/cpu/conv/WinogradRows.inc"

namespace kedge::rt::cpu {

WinogradRows winogradRowsAvx2() { return makeWinograd<32>(); }
WinogradLanes winogradLanesAvx2() { return makeWinogradLanes<32>(); }

} // namespace kedge::rt::cpu
