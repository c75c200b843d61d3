// The threads of one block, taking turns.
#pragma once
#include "kedge/abi.h"
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace kedge::test {

/// What a simulated thread knows; the lowered kernels read it at these offsets (GpuOnHost.cpp).
struct GpuThread {
  std::array<int64_t, 3> thread, block, blockSize, gridSize;
  char *shared;
  void (*barrier)(GpuThread *);
  /// The value of the lane that `mode` (0 xor, 1 up, 2 down, 3 index) and `offset` name.
  int32_t (*shuffle)(GpuThread *, int32_t value, int32_t offset, int32_t mode);
  /// What a warp does as one with the registers of all lanes (GpuMatrices.h); `words` are this lane's.
  void (*matrices)(GpuThread *, int32_t kind, int32_t *words);
  /// cp.async: `bytes` at `to`, `given` of them from there, the others zeros. They are garbage until they are
  /// waited for.
  void (*copy)(GpuThread *, char *to, const char *from, int32_t bytes, int32_t given);
  void (*commitCopies)(GpuThread *);
  /// All groups of this thread's copies but the last `groups` are there.
  void (*waitForCopies)(GpuThread *, int32_t groups);
  float (*exp2)(GpuThread *, float);       ///< ex2.approx.ftz; a device may be 2 units in the last place away
  float (*reciprocal)(GpuThread *, float); ///< rcp.approx.ftz; a device may be 1 unit away
  class GpuBlock *owner;
  int64_t number;
};

/// Runs `body` for all threads of a block. Throws kedge::Error when some wait where others never come.
class GpuBlock {
public:
  explicit GpuBlock(std::mt19937 &random) : random(random) {}
  /// `meets`: whether threads have barriers or shuffles; those without need no stacks of their own.
  void run(const GpuThread &pattern, bool meets, const std::function<void(GpuThread *)> &body);

private:
  std::mt19937 &random;
};

/// A kernel as kernelsOnHost makes it.
struct KernelCode {
  std::string name;
  KedgeKernel function = nullptr;
  bool meets = false;
  int64_t sharedBytes = 0;
};

/// Runs all blocks of a launch in a random order; shared memory starts as garbage. Throws kedge::Error that
/// names the kernel.
void runGrid(const KernelCode &kernel, const std::array<int64_t, 3> &grid,
             const std::array<int64_t, 3> &block, char *const *arguments, std::mt19937 &random);

} // namespace kedge::test
