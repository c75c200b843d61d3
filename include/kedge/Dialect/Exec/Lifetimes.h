// What counts the launches of a function: lifetimes of buffers, and where gradients are whole.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"

namespace kedge::exec {

class Lifetimes {
public:
  explicit Lifetimes(FunctionOp function);
  llvm::ArrayRef<BufferOp> buffers() const { return allBuffers; }
  /// After the list of launches changed: each index counts what `moved` says now.
  void renumber(llvm::function_ref<int64_t(int64_t)> moved);

private:
  llvm::SmallVector<BufferOp> allBuffers;
  llvm::SmallVector<GradientOp> gradients;
};

} // namespace kedge::exec
