// Gradients of pools: a plane of dX is a sum of what windows give back.
#pragma once
#include "runtime/calls/PoolShape.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/GemmPack.h"

namespace kedge::rt::cpu {
using namespace calls;

/// spread(inputs, plane, sums, scratch) adds up a plane of dX, in `sums`, which are zeros before. Sums are
/// made in dX itself, which shares no bytes with inputs (sched::mayOverwrite); those of 16-bit types in the
/// thread's memory, and rounded once. `scratchBytes`: what spread needs for a thread.
template <typename S, typename Broadcast>
std::unique_ptr<LibraryKernel> planeGradient(const PoolShape &p, int threads, size_t scratchBytes,
                                             Broadcast broadcast) {
  using T = Compute<S>;
  constexpr bool kInPlace = std::is_same_v<S, T>;
  const size_t sumBytes = kInPlace ? 0 : alignedBytes(sizeof(T) * p.inSize());
  const size_t threadBytes = sumBytes + alignedBytes(scratchBytes);
  return closure(threadBytes * threads, [=](Inputs in, Outputs out, void *workspace) {
    parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
      char *memory = static_cast<char *>(workspace) + threadSlot() * threadBytes;
      for (int64_t plane = begin; plane < end; ++plane) {
        S *result = static_cast<S *>(out[0]) + plane * p.inSize();
        T *sums = kInPlace ? reinterpret_cast<T *>(result) : reinterpret_cast<T *>(memory);
        std::fill_n(sums, p.inSize(), T(0));
        broadcast(in, plane, sums, memory + sumBytes);
        if constexpr (!kInPlace)
          convertRows(1, p.inSize(), sums, 0, result, 0);
      }
    });
  });
}

} // namespace kedge::rt::cpu
