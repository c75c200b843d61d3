// One function a file; each registers that file's kernels. Called by registerCpuKernels (Kernels.cpp).
#pragma once

namespace kedge::rt::cpu {

void registerMatMul();

} // namespace kedge::rt::cpu
