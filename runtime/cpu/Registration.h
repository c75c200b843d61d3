// One function a file; each registers that file's kernels. Called by registerCpuKernels (Kernels.cpp).
#pragma once

namespace kedge::rt::cpu {

void registerAttentionGrad();
void registerAttention();
void registerConv();
void registerGather();
void registerGatherGrad();
void registerMatMul();
void registerMovement();
void registerPad();
void registerScatter();
void registerSlice();

} // namespace kedge::rt::cpu
