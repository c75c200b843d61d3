#include "runtime/cpu/conv/WinogradRows.inc"

namespace kedge::rt::cpu {

WinogradRows winogradRowsBase() { return makeWinograd<16>(); }
WinogradLanes winogradLanesBase() { return makeWinogradLanes<16>(); }

} // namespace kedge::rt::cpu
