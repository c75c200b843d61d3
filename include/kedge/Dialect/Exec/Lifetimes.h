// Attributes that hold launch numbers of a function: lifetimes of buffers, and launches after which gradients
// are complete.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"

namespace kedge::exec {

class Lifetimes {
public:
  explicit Lifetimes(FunctionOp function);
  llvm::ArrayRef<BufferOp> buffers() const { return allBuffers; }
  /// Call after the list of launches has changed: replaces each launch number n by `moved(n)`.
  void renumber(llvm::function_ref<int64_t(int64_t)> moved);

private:
  llvm::SmallVector<BufferOp> allBuffers;
  llvm::SmallVector<GradientOp> gradients;
};

} // namespace kedge::exec
