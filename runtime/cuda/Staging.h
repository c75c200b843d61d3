// Page-locked host memory between the data files, the scalars and the results of a program and its arena on the GPU.
#pragma once
#include "runtime/cuda/Gpu.h"
#include <map>

namespace kedge::rt::cuda {

/// A stretch of the arena and its place in a block of host memory.
struct Stretch {
  uint64_t offset = 0, bytes = 0, at = 0;
};

/// Two blocks that take turns: the host fills one while the other is on its way. Filled from `begin` on, they go out
/// in one copy for each run of neighbours.
class DoubleBlock {
public:
  /// `stretches` (offset, bytes) of an arena whose buffers lie at multiples of `alignment`: neighbours that less
  /// than that separates have only padding between them and are copied as one.
  DoubleBlock(Gpu &gpu, std::vector<Stretch> stretches, uint64_t alignment);
  ~DoubleBlock();
  DoubleBlock(const DoubleBlock &) = delete;
  DoubleBlock &operator=(const DoubleBlock &) = delete;

  /// Where the host writes what lies at this arena offset; waits until the block is free.
  char *at(uint64_t offset);
  /// Sends what was written since the last time, if anything was.
  void send(CUdeviceptr arena);

private:
  Gpu &gpu;
  std::map<uint64_t, Stretch> places; ///< by arena offset
  std::vector<Stretch> copies;
  char *block[2] = {};
  CUevent sent[2] = {};
  bool pending[2] = {};
  int current = 0;
  bool written = false;
};

/// Results on their way back: all of a function's in one wait.
class ResultBlock {
public:
  ResultBlock(Gpu &gpu, const Program &program);
  /// Call when a function has run on.
  void expire() { fresh = false; }
  /// The bytes of a result, or null when no result lies there.
  const char *read(CUdeviceptr arena, uint64_t offset, uint64_t bytes);

private:
  Gpu &gpu;
  std::vector<Stretch> copies;
  char *block = nullptr;
  bool fresh = false;
};

/// Joins stretches that at most `gap` bytes separate, in order of their offsets; `at` counts on over them. Gives the
/// bytes in all.
uint64_t joinStretches(std::vector<Stretch> &stretches, uint64_t gap);

} // namespace kedge::rt::cuda
