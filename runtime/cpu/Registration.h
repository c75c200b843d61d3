// One function a file; each registers that file's kernels. Called by registerCpuKernels (Kernels.cpp).
#pragma once

namespace kedge::rt::cpu {

void registerMatMul();
void registerMovement();
void registerSlice();
void registerPad();
void registerGather();
void registerGatherGrad();
void registerScatter();

} // namespace kedge::rt::cpu
