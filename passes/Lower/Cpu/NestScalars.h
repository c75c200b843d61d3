// The scalars of a nest's body on the CPU.
#pragma once
#include "passes/Lower/Cluster/BodyWalk.h"
#include "passes/Lower/Cpu/NestMemory.h"

namespace kedge::lower {

class NestScalars final : public BodyWalk {
public:
  NestScalars(ScalarOps &ops, const NestPosition &position, NestMemory &memory)
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
  const NestPosition &position;
  NestMemory &memory;
};

} // namespace kedge::lower
