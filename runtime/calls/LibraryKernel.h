// What the launch table calls besides generated kernels: library products, gathers, attention...
// One kernel object a launch, made before the first step, so that a run allocates nothing.
#pragma once
#include "runtime/format/Tensor.h"
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace kedge::rt {

/// A launch as the compiler describes it. Optional operands that are absent have no entry: `attrs`
/// then says which are there ("operands": [true, false, ...]) where an op has optional operands.
struct LibraryCall {
  std::string name; ///< e.g. "onnx.Gather"; the op's name at level 2
  nlohmann::json attrs;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
};

/// What one run() computes and moves, for cost models: a fact of the call, not of machine or threads.
struct KernelWork {
  /// Irregular: element by element through indices or windows, no vectors of neighbours.
  enum class Kind { Vector, Irregular, Product, Convolution, Attention };
  Kind kind = Kind::Vector;
  double flops = 0;            ///< a multiply-add counts 2
  double specialFunctions = 0; ///< exp, tanh, log...
  /// Where they are not all bytes of the inputs, or of the outputs.
  std::optional<double> bytesRead = {}, bytesWritten = {};
  /// What decides how near to the rate of large products it runs. Attention: keys that a query sees on average.
  /// Convolution: channels of the result, which share what is read from the image.
  double extent = 0;
};

class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  /// The default is a kernel that only moves data.
  virtual KernelWork work() const { return {}; }
  /// Scratch bytes that run() may use, 64-byte aligned; constant for the object.
  virtual size_t workspaceBytes() const { return 0; }
  /// Pointers in the order of the call's inputs and outputs. Reads no output's old content and writes
  /// no input. Must not allocate. The result does not depend on the thread count.
  virtual void run(const void *const *inputs, void *const *outputs, void *workspace) = 0;
};

using KernelFactory = std::function<std::unique_ptr<LibraryKernel>(const LibraryCall &, int threads)>;

/// Registers a factory under an op name; the CPU kernels enter by registerCpuKernels (runtime/cpu/Kernels.h),
/// which makeKernel and hasKernel call themselves.
void registerKernel(const std::string &name, KernelFactory factory);
/// Throws rt::Error when there is no kernel of this name or it does not take these types and shapes.
std::unique_ptr<LibraryKernel> makeKernel(const LibraryCall &call, int threads);
bool hasKernel(const std::string &name);

} // namespace kedge::rt
