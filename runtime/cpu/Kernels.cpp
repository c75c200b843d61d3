#include "runtime/cpu/Kernels.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt {

void registerCpuKernels() {
  cpu::registerMatMul();
}

} // namespace kedge::rt
