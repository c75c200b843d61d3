// The scalars of a cluster's body in a thread.
#pragma once
#include "passes/Lower/Cluster/BodyWalk.h"
#include "passes/Lower/Gpu/thread/ThreadMemory.h"

namespace kedge::lower::gpu {

class ThreadScalars final : public BodyWalk {
public:
  ThreadScalars(ScalarOps &ops, const ThreadPlace &place, ThreadMemory &memory)
      : BodyWalk(ops, place.nest), place(place), memory(memory) {}

protected:
  bool isEntered(mlir::Value v) const override { return place.isEntered(v); }
  Values load(unsigned input) override { return memory.load(input); }
  mlir::Value emitIndex(sched::IndexOp op, unsigned copy) override;
  std::optional<Values> emitTogether(sched::RandomOp random) override;
  unsigned copiesOf(mlir::Value v) const override { return place.copiesOf(v); }
  unsigned lanesOf(mlir::Value v) const override { return place.lanesOf(v); }

private:
  mlir::Value joined(mlir::Value low, mlir::Value high);

  const ThreadPlace &place;
  ThreadMemory &memory;
};

} // namespace kedge::lower::gpu
