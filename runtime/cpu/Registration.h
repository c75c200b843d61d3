// The files with kernels, each of which has one function that registers them: declared here, called by
// registerCpuKernels (Kernels.cpp). A new file is named here and nowhere else.
#pragma once

// clang-format off
#define KEDGE_KERNEL_FILES(FILE) \
  FILE(AttentionGrad) \
  FILE(Attention) \
  FILE(AveragePool) \
  FILE(Conv) \
  FILE(Eigenbasis) \
  FILE(Fill) \
  FILE(Gather) \
  FILE(GatherGrad) \
  FILE(GridSample) \
  FILE(GroupedMatmul) \
  FILE(IntegerMatmuls) \
  FILE(LeadingBasis) \
  FILE(MatMul) \
  FILE(MaxPool) \
  FILE(Movement) \
  FILE(PackedProduct) \
  FILE(Pad) \
  FILE(Recurrent) \
  FILE(Resize) \
  FILE(ScaledProduct) \
  FILE(Scan) \
  FILE(Scatter) \
  FILE(Slice) \
  FILE(SumProducts)
// clang-format on

namespace kedge::rt::cpu {

#define KEDGE_DECLARE(NAME) void register##NAME();
KEDGE_KERNEL_FILES(KEDGE_DECLARE)
#undef KEDGE_DECLARE

} // namespace kedge::rt::cpu
