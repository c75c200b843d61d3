// The kernels that a launch table calls besides generated ones: products, gathers, attention... Each launch
// has a kernel object of its own, which is made before the first step, so that running it allocates nothing.
#pragma once
#include "runtime/calls/LibraryCall.h"
#include <functional>
#include <memory>

namespace kedge::rt::calls {

class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  /// Scratch bytes that run() may use, 64-byte aligned; constant for the object.
  virtual size_t workspaceBytes() const { return 0; }
  /// Pointers are in the order of the call's inputs and outputs. Must not read old contents of
  /// outputs, write inputs, or allocate. The result must not depend on the number of threads.
  virtual void run(const void *const *inputs, void *const *outputs, void *workspace) = 0;
};

using KernelFactory = std::function<std::unique_ptr<LibraryKernel>(const LibraryCall &, int threads)>;

/// Registers a factory for an op name. CPU kernels are registered by registerCpuKernels
/// (runtime/cpu/Kernels.h), which makeKernel and hasKernel call themselves.
void registerKernel(const std::string &name, KernelFactory factory);
/// Throws rt::RuntimeError if there is no kernel of this name or it does not support these types and shapes.
std::unique_ptr<LibraryKernel> makeKernel(const LibraryCall &call, int threads);
bool hasKernel(const std::string &name);

} // namespace kedge::rt::calls
