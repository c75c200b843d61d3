#include "runtime/cpu/Kernels.h"

namespace kedge::rt {

void registerCpuKernels() {}

} // namespace kedge::rt
