// The kernels that a launch table calls besides generated ones: products, gathers, attention... Each launch
// has a kernel object of its own, which is made before the first step, so that running it allocates nothing.
#pragma once
#include "runtime/format/Tensor.h"
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace kedge::rt::calls {

/// A launch as the compiler describes it. Absent optional operands have no entry in `inputs`. For
/// ops with optional operands, `attrs` says which are present ("operands": [true, false, ...]).
struct LibraryCall {
  std::string name; ///< e.g. "onnx.Gather"; the op's name at level 2
  nlohmann::json attrs;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
};

/// What one run() computes and moves, for cost models. Depends on the call only, not on machine or threads.
struct KernelWork {
  /// Irregular: element by element through indices or windows, without vectors of neighbouring elements.
  enum class Kind { Vector, Irregular, Product, Convolution, Attention };
  Kind kind = Kind::Vector;
  double flops = 0;            ///< a multiply-add counts 2
  double specialFunctions = 0; ///< exp, tanh, log...
  /// Set if not all bytes of the inputs are read, or not all bytes of the outputs written.
  std::optional<double> bytesRead = {}, bytesWritten = {};
  /// A size that decides how close to the peak rate it runs. Attention: keys that a query sees
  /// on average. Convolution: channels of the result, which share the bytes read from the image.
  double extent = 0;
  /// FLOPs of the definition for each that a processor runs: above 1 where transforms save multiplications.
  double shortcut = 1;
};

class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  /// By default the work of a kernel that only moves data.
  virtual KernelWork work() const { return {}; }
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
/// Throws rt::Error if there is no kernel of this name or it does not support these types and shapes.
std::unique_ptr<LibraryKernel> makeKernel(const LibraryCall &call, int threads);
bool hasKernel(const std::string &name);

} // namespace kedge::rt::calls
