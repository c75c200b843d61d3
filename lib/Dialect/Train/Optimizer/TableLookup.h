// A number of a small table, by its place.
#pragma once
#include "kedge/Interfaces/ClusterBody.h"

namespace kedge::train {

/// The entry of `table` (a power of two of numbers, at most 16) at the low bits of `code`, an i32: choices by
/// one bit after the other from the lowest, none between equal numbers. The CPU's emitter makes a permutation
/// of it.
mlir::Value lookUp(ClusterBodyBuilder &b, mlir::Value code, llvm::ArrayRef<float> table);

} // namespace kedge::train
