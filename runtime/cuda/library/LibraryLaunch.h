// A library call on the GPU; all choices are made before the first step.
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cuda/driver/Gpu.h"
#include <optional>

namespace kedge::rt::cuda {

/// Addresses of a launch's operands.
struct LaunchPointers {
  std::vector<CUdeviceptr> inputs, outputs;
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;

  CUdeviceptr operand(int at) const {
    const size_t index = static_cast<size_t>(at);
    return index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
  }
};

/// A copy of an operand that a call leaves in the workspace beyond the plan.
struct LeftCopy {
  CUdeviceptr source = 0;
  uint64_t bytes = 0;                                                ///< that it was made of
  uint64_t offset = 0;                                               ///< in the workspace
  int64_t rows = 0, width = 0, row = 0, wideRows = 0, wideWidth = 0; ///< in elements

  bool operator==(const LeftCopy &) const = default;
  bool isOf(CUdeviceptr place, uint64_t size) const {
    return place < source + bytes && source < place + size;
  }
};

class LibraryLaunch {
public:
  virtual ~LibraryLaunch() = default;
  /// Enqueues the call on the GPU's stream, possibly while a graph is recorded. Allocates nothing.
  virtual void enqueue() = 0;
  /// Whether the launch's own kernels must run behind it.
  virtual bool leavesKernels() const { return false; }
  /// Workspace bytes needed beyond the planned ones. If not 0, the call uses the memory from setWorkspace.
  virtual uint64_t wantedWorkspaceBytes() const { return 0; }
  virtual void setWorkspace(CUdeviceptr workspace, uint64_t bytes) {}
  /// What is in that memory afterwards and may serve a later call.
  virtual std::optional<LeftCopy> leftCopy() const { return std::nullopt; }
  /// An equal copy is there already whenever this call runs.
  virtual void reuseCopy() {}
};

} // namespace kedge::rt::cuda
