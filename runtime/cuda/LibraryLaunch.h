// A library call on the GPU with everything chosen before the first step.
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cuda/Gpu.h"

namespace kedge::rt::cuda {

/// Where a launch's bytes lie.
struct LaunchPlaces {
  std::vector<CUdeviceptr> inputs, outputs;
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;

  CUdeviceptr operand(int at) const {
    const size_t index = static_cast<size_t>(at);
    return index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
  }
};

class LibraryLaunch {
public:
  virtual ~LibraryLaunch() = default;
  /// Puts the call on the GPU's stream; may be recorded into a graph. Allocates nothing.
  virtual void enqueue() = 0;
  /// Scratch bytes that it needs beyond the planned ones; it then uses what setWorkspace gives.
  virtual uint64_t wantedWorkspaceBytes() const { return 0; }
  virtual void setWorkspace(CUdeviceptr workspace, uint64_t bytes) {}
};

} // namespace kedge::rt::cuda
