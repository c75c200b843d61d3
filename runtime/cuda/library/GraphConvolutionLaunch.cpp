#include "runtime/cuda/library/GraphConvolutionLaunch.h"
#include "runtime/cuda/library/ConvolutionLaunch.h"
#include <algorithm>

namespace kedge::rt::cuda {
using namespace calls;

static bool isEmpty(const ConvolutionCall &call) {
  const auto hasNone = [&](const std::array<int, 5> &shape) {
    return std::any_of(shape.begin(), shape.begin() + call.dims + 2, [](int size) { return size == 0; });
  };
  return hasNone(call.x) || hasNone(call.w) || hasNone(call.y);
}

GraphConvolutionLaunch::GraphConvolutionLaunch(const CudnnGraph &library, cudnnHandle_t handle,
                                               const ConvolutionCall &call, const LaunchPointers &pointers)
    : library(library), call(call), pointers(pointers) {
  if (isEmpty(call))
    return;
  plan.emplace(library, PlanDevice{handle}, call, pointers.workspaceBytes, textOf(call));
  pack();
}

uint64_t GraphConvolutionLaunch::wantedWorkspaceBytes() const {
  return plan && plan->workspaceBytes() > pointers.workspaceBytes ? plan->workspaceBytes() : 0;
}

void GraphConvolutionLaunch::setWorkspace(CUdeviceptr workspace, uint64_t bytes) {
  pointers.workspace = workspace, pointers.workspaceBytes = bytes;
  if (plan)
    pack();
}

void GraphConvolutionLaunch::pack() {
  const auto at = [&](int operand) { return reinterpret_cast<void *>(pointers.operand(operand)); };
  packed.emplace(plan->pack(at(call.image), at(call.filter), at(call.result),
                            reinterpret_cast<void *>(pointers.workspace)));
}

void GraphConvolutionLaunch::enqueue() {
  if (!plan)
    return;
  if (const cudnnStatus_t status = plan->run(*packed); status != CUDNN_STATUS_SUCCESS)
    fail("cuDNN does not run {}: {} ({})", textOf(call), library.errorString(status),
         static_cast<int>(status));
}

} // namespace kedge::rt::cuda
