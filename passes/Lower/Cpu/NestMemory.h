// Loads and stores of a nest, and the indices that they need.
#pragma once
#include "passes/Lower/Cluster/ElementMemory.h"
#include "passes/Lower/Cpu/NestPosition.h"

namespace kedge::lower {

class NestMemory {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `pointers`: the nest's inputs, then its outputs.
  NestMemory(ScalarOps &ops, const NestPosition &position, mlir::ValueRange pointers)
      : ops(ops), b(ops.builder), loc(ops.loc), position(position), nest(position.nest), plan(position.plan),
        pointers(pointers) {}

  /// The copies of an input at this place.
  Values load(unsigned input);
  /// `count` vectors of an input, one for each element of the tile dim from the current one on.
  Values loadTransposed(unsigned input, unsigned count);
  /// `copyOf` gives a copy of the output's value.
  void store(unsigned output, llvm::function_ref<mlir::Value(unsigned copy)> copyOf);
  /// Both values of the pair dim, which is entered at 0, in turn behind each other; all lanes exist.
  void storePairs(unsigned output, mlir::ArrayRef<mlir::Value> first, mlir::ArrayRef<mlir::Value> second);
  /// An expression of the nest's dims, i64, in lanes where it varies along them.
  mlir::Value index(mlir::AffineExpr e, unsigned copy) { return expand(e, copy, 64, true); }
  /// The lanes of a copy that exist.
  mlir::Value mask(unsigned copy) { return leadingLanes(ops, position.lanesOfCopy(copy), plan.width); }

private:
  ElementMemory memoryOf(const Access &access) {
    return {ops, access.element, ElementMemory::Vectors::AlignedAsElements};
  }
  bool isContiguous(const Access &access) const {
    return access.linear && access.coefficients[plan.lanesDim] == 1;
  }
  Values transpose(Values rows);
  mlir::Value laneIndex(unsigned copy, unsigned bits);
  mlir::Value expand(mlir::AffineExpr e, unsigned copy, unsigned bits, bool byLane);
  mlir::Value scalarOffset(const Access &access, int64_t extra);
  /// Of the one element of a copy that is not in lanes.
  mlir::Value singleOffset(const Access &access, unsigned copy);
  mlir::Value addresses(mlir::Value pointer, const Access &access, unsigned copy);
  mlir::Value number(int64_t value) { return ops.intConstant(64, value, 1); }

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const NestPosition &position;
  const ClusterNest &nest;
  const LoopPlan &plan;
  mlir::ValueRange pointers;
};

} // namespace kedge::lower
