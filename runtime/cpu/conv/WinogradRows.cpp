#include "runtime/cpu/conv/WinogradRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

const WinogradRows &winogradRows() { return KEDGE_MADE_FOR_ISA(winogradRows, ); }

const WinogradLanes &winogradLanes() { return KEDGE_MADE_FOR_ISA(winogradLanes, ); }

} // namespace kedge::rt::cpu
