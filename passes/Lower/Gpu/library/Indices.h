// Index tensors in kernels. An index outside of its range ends the program with a launch error.
#pragma once
#include "passes/Lower/Gpu/library/CallKernels.h"
#include "runtime/calls/IndexTuples.h"

namespace kedge::lower::gpu {

enum class Checks { Trap, None };

/// The index at `position` as a place in [0, size): negative ones count from the end.
Num placeAt(KernelBuilder &k, Memory indices, Num position, int64_t size, Checks checks = Checks::Trap);

/// The slice that tuple number `tuple` names.
Num slotOf(KernelBuilder &k, Memory indices, const rt::calls::IndexTuples &tuples, Num tuple,
           Checks checks = Checks::Trap);

/// Gathered rows summed back: row s of `dst` is the sum of the rows of `src` whose slot is s, in an order
/// that depends on the slots only; rows without any are zero. `outer` times side by side, with the same
/// slots.
struct RowSums {
  int64_t outer, slots, positions, columns;
  /// Of a position; -1 drops the row.
  std::function<Num(KernelBuilder &, Memory indices, Num position, Checks)> slotOf;
};
void sumRows(CallKernels &kernels, Operand src, Operand indices, Operand dst, const RowSums &sums);

} // namespace kedge::lower::gpu
