// How positions lie in tensors, and the loops of ops that they run along.
#pragma once
#include "passes/Mesh/Layout.h"
#include <optional>

namespace kedge::mesh {

/// The op's PositionOpInterface, else its rule along `tensor`.
ShardingRule positionRuleOf(mlir::Operation *op, int64_t ranks);

/// Of the reshaped tensor, if positions are a part of one of its dimensions, too. `positions`: of a row.
std::optional<Layout> reshaped(const Layout &layout, llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                               int64_t positions);

/// The loop under which a tensor of these dims lies so; nullopt if the op cannot be computed on a part of it.
std::optional<CutLoop> positionLoop(mlir::Operation *op, const ShardingRule &rule, llvm::ArrayRef<int> dims,
                                    const Layout &layout, int64_t ranks);

/// Whether the op's result of sums over ranks is the sum of its results: it is linear in the operands that
/// `isSum` tells, and has no other one that is added.
bool keepsSums(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isSum);

/// Whether an op that needs all positions of an operand may have them: a number for each position, or some
/// positions taken out.
bool mayReadAll(mlir::Operation *op, mlir::Value operand);

} // namespace kedge::mesh
