// Kernels that copy between strided index spaces.
#pragma once
#include "passes/Lower/Gpu/library/CallKernels.h"
#include "runtime/calls/CopyPlans.h"

namespace kedge::lower::gpu {

/// dst[to + sum i_d dst_d] = src[from + sum i_d src_d]. Rows that lie alike in both are moved in vectors of
/// 16 bytes, transposes in tiles through shared memory.
void copyStrided(CallKernels &kernels, Operand src, Operand dst, std::vector<rt::calls::CopyDim> dims,
                 int64_t from, int64_t to);

/// One dimension of a tensor that holds another one: its element i is element (i - start) / step of the inner
/// tensor where that is an integer in [0, inner), else outside.
struct Inset {
  int64_t size, inner, start, step = 1;
};
/// Writes all of dst: elements of src where every dimension has one, elsewhere the element of `outside` or,
/// without one, the element whose bits are `constant`.
void copyInset(CallKernels &kernels, Operand src, Operand dst, std::vector<Inset> dims,
               std::optional<Operand> outside = {}, int64_t constant = 0);

/// Memory in which sums may be added up in place for `result`: itself, or `count` elements of the workspace
/// where each store would round.
Operand accumulatorOf(CallKernels &kernels, const Operand &result, int64_t count);
/// to[i] = from[i] in another type.
void convertElements(CallKernels &kernels, const Operand &from, const Operand &to, int64_t count);

/// The widest vector of 16 bytes or less whose width divides all of `strides`.
unsigned vectorWidth(mlir::Type element, llvm::ArrayRef<int64_t> strides);

} // namespace kedge::lower::gpu
