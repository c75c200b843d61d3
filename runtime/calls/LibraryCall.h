// A call of a library kernel, and what it computes and moves: known without the kernel, on any target.
#pragma once
#include "runtime/format/Tensor.h"
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

/// What one run of a call computes and moves, for cost models. Depends on the call only, not on target,
/// machine or threads.
struct CallWork {
  /// Irregular: element by element through indices or windows, without vectors of neighbouring elements.
  enum class Kind { Vector, Irregular, Matmul, Convolution, Attention };
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

/// A call of no known name only moves its operands. Throws rt::RuntimeError if operands and attributes do not
/// fit each other.
CallWork workOf(const LibraryCall &call);

} // namespace kedge::rt::calls
