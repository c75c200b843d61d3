#include "runtime/cpu/Kernels.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt {

void registerCpuKernels() {
  registerCollectives();
#define KEDGE_CALL(NAME) cpu::register##NAME();
  KEDGE_KERNEL_FILES(KEDGE_CALL)
#undef KEDGE_CALL
}

} // namespace kedge::rt
