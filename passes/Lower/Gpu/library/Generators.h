// One function a library call; each fails by rt::RuntimeError, whose message names the call and what to do.
#pragma once
#include "passes/Lower/Gpu/library/CallKernels.h"

namespace kedge::lower::gpu {

void generateCopies(CallKernels &kernels); ///< Transpose, Expand, Tile, DepthToSpace..., Concat, Split, Slice
void generateSliceGrad(CallKernels &kernels);
void generateCenterCropPad(CallKernels &kernels);
void generatePad(CallKernels &kernels);
void generatePadGrad(CallKernels &kernels);
void generateGather(CallKernels &kernels);
void generateGatherElements(CallKernels &kernels);
void generateGatherND(CallKernels &kernels);
void generateGatherGrad(CallKernels &kernels);
void generateGatherElementsGrad(CallKernels &kernels);
void generateGatherNDGrad(CallKernels &kernels);
void generateScatterElements(CallKernels &kernels);
void generateScatterND(CallKernels &kernels);
void generateOneHot(CallKernels &kernels);
void generateEyeLike(CallKernels &kernels);
void generateTrilu(CallKernels &kernels);
void generateRange(CallKernels &kernels);
void generateCumSum(CallKernels &kernels);
void generateArgExtreme(CallKernels &kernels); ///< ArgMax, ArgMin
void generateHardmax(CallKernels &kernels);
void generateTopK(CallKernels &kernels);
void generateMaxPool(CallKernels &kernels);
void generateMaxPoolGrad(CallKernels &kernels);
void generateAveragePool(CallKernels &kernels);
void generateAveragePoolGrad(CallKernels &kernels);
void generateResize(CallKernels &kernels);
void generateResizeGrad(CallKernels &kernels);
void generateConvolution(CallKernels &kernels); ///< Conv, ConvTranspose and the gradients of both
void generateAttention(CallKernels &kernels);
void generateAttentionGrad(CallKernels &kernels);

} // namespace kedge::lower::gpu
