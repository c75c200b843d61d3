#include "runtime/cpu/Kernels.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt {

void registerCpuKernels() {
  cpu::registerMatMul();
  cpu::registerMovement();
  cpu::registerSlice();
  cpu::registerPad();
  cpu::registerGather();
  cpu::registerGatherGrad();
  cpu::registerScatter();
}

} // namespace kedge::rt
