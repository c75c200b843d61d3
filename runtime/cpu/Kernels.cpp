#include "runtime/cpu/Kernels.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt {

void registerCpuKernels() {
  registerCollectives();
  cpu::registerAttentionGrad();
  cpu::registerAttention();
  cpu::registerAveragePool();
  cpu::registerConv();
  cpu::registerFill();
  cpu::registerGather();
  cpu::registerGatherGrad();
  cpu::registerGridSample();
  cpu::registerIntegerProducts();
  cpu::registerMatMul();
  cpu::registerMaxPool();
  cpu::registerMovement();
  cpu::registerPad();
  cpu::registerRecurrent();
  cpu::registerResize();
  cpu::registerScaledProduct();
  cpu::registerScan();
  cpu::registerScatter();
  cpu::registerSlice();
  cpu::registerSumProducts();
}

} // namespace kedge::rt
