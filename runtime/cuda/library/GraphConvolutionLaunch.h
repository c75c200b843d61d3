// One convolution of 16-bit tensors, or the gradient of one, by cuDNN's graph API.
#pragma once
#include "runtime/cuda/library/CudnnGraph.h"
#include "runtime/cuda/library/LibraryLaunch.h"

namespace kedge::rt::cuda {

class GraphConvolutionLaunch final : public LibraryLaunch {
public:
  GraphConvolutionLaunch(const CudnnGraph &library, cudnnHandle_t handle, const calls::ConvolutionCall &call,
                         const LaunchPointers &pointers);
  void enqueue() override;
  uint64_t wantedWorkspaceBytes() const override;
  void setWorkspace(CUdeviceptr workspace, uint64_t bytes) override;

private:
  void pack();

  const CudnnGraph &library;
  calls::ConvolutionCall call;
  LaunchPointers pointers;
  std::optional<ConvolutionPlan> plan; ///< none without an element to compute
  std::optional<GraphDescriptor> packed;
};

} // namespace kedge::rt::cuda
