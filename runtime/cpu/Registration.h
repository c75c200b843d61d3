// One function for each file, which registers the kernels in that file. Called by registerCpuKernels
// (Kernels.cpp).
#pragma once

namespace kedge::rt::cpu {

void registerAttentionGrad();
void registerAttention();
void registerAveragePool();
void registerConv();
void registerFill();
void registerGather();
void registerGatherGrad();
void registerGridSample();
void registerIntegerProducts();
void registerMatMul();
void registerMaxPool();
void registerMovement();
void registerPad();
void registerRecurrent();
void registerResize();
void registerScaledProduct();
void registerScan();
void registerScatter();
void registerSlice();
void registerSumProducts();

} // namespace kedge::rt::cpu
