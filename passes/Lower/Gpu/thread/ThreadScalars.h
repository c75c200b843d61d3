// The scalars of a cluster's body in a thread.
#pragma once
#include "passes/Lower/Cluster/BodyWalk.h"
#include "passes/Lower/Gpu/thread/ThreadMemory.h"

namespace kedge::lower::gpu {

class ThreadScalars final : public BodyWalk {
public:
  ThreadScalars(ScalarOps &ops, const ThreadPosition &position, ThreadMemory &memory)
      : BodyWalk(ops, position.nest), position(position), memory(memory) {}

protected:
  bool isEntered(mlir::Value v) const override { return position.isEntered(v); }
  Values load(unsigned input) override { return memory.load(input); }
  mlir::Value emitIndex(sched::IndexOp op, unsigned copy) override;
  std::optional<Values> emitTogether(sched::RandomOp random) override;
  mlir::Value emitShorter(mlir::Operation &op, unsigned copy) override;
  unsigned copiesOf(mlir::Value v) const override { return position.copiesOf(v); }
  unsigned lanesOf(mlir::Value v) const override { return position.lanesOf(v); }

private:
  mlir::Value joined(mlir::Value low, mlir::Value high);

  const ThreadPosition &position;
  ThreadMemory &memory;
};

} // namespace kedge::lower::gpu
