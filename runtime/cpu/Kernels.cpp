#include "runtime/cpu/Kernels.h"
#include "kedge/abi.h"
#include "runtime/comm/CollectiveKernel.h"

void kedge::rt::registerCpuKernels() {
  registerCollectives();
  for (const KedgeRegistration *file = kedge_library_kernels; *file; ++file)
    (*file)();
}
