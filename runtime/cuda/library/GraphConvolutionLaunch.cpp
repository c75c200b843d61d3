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
                                               const ConvolutionCall &call, const LaunchPlaces &places)
    : library(library), call(call), places(places) {
  if (isEmpty(call))
    return;
  plan.emplace(library, PlanDevice{handle}, call, places.workspaceBytes, textOf(call));
  pack();
}

uint64_t GraphConvolutionLaunch::wantedWorkspaceBytes() const {
  return plan && plan->workspaceBytes() > places.workspaceBytes ? plan->workspaceBytes() : 0;
}

void GraphConvolutionLaunch::setWorkspace(CUdeviceptr workspace, uint64_t bytes) {
  places.workspace = workspace, places.workspaceBytes = bytes;
  if (plan)
    pack();
}

void GraphConvolutionLaunch::pack() {
  const auto at = [&](int operand) { return reinterpret_cast<void *>(places.operand(operand)); };
  packed.emplace(plan->pack(at(call.image), at(call.filter), at(call.result),
                            reinterpret_cast<void *>(places.workspace)));
}

void GraphConvolutionLaunch::enqueue() {
  if (!plan)
    return;
  if (const cudnnStatus_t status = plan->run(*packed); status != CUDNN_STATUS_SUCCESS)
    fail("cuDNN does not run {}: {} ({})", textOf(call), library.errorString(status),
         static_cast<int>(status));
}

} // namespace kedge::rt::cuda
