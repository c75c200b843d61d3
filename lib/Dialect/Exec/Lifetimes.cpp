#include "kedge/Dialect/Exec/Lifetimes.h"

using namespace kedge::exec;

Lifetimes::Lifetimes(FunctionOp function)
    : allBuffers(llvm::to_vector(function.getBody().getOps<BufferOp>())),
      gradients(llvm::to_vector(function.getBody().getOps<GradientOp>())) {}

void Lifetimes::renumber(llvm::function_ref<int64_t(int64_t)> moved) {
  for (BufferOp buffer : allBuffers) {
    buffer.setFirst(moved(buffer.getFirst()));
    buffer.setLast(moved(buffer.getLast()));
  }
  for (GradientOp gradient : gradients)
    gradient.setAfter(moved(gradient.getAfter()));
}
