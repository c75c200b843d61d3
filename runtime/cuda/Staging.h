// Page-locked host memory through which data, scalars and results go between the host and the arena on the
// GPU.
#pragma once
#include "runtime/cuda/driver/Gpu.h"
#include <map>

namespace kedge::rt::cuda {

/// A range of the arena, and its place in a block of host memory.
struct ByteRange {
  uint64_t offset = 0, bytes = 0, at = 0;
};

/// Two blocks used in turn: the host fills one while the other is being copied. Writing
/// starts at `begin`; send() makes one copy for each run of neighbouring ranges.
class DoubleBlock {
public:
  /// `stretches` are (offset, bytes) in an arena with this alignment. Ranges
  /// closer than that have only padding between them, so they are copied together.
  DoubleBlock(Gpu &gpu, std::vector<ByteRange> stretches, uint64_t alignment);
  ~DoubleBlock();
  DoubleBlock(const DoubleBlock &) = delete;
  DoubleBlock &operator=(const DoubleBlock &) = delete;

  /// Where to write the content of this arena offset. Waits until the block is free.
  char *at(uint64_t offset);
  /// What the next send() copies there; null if nothing was written since the last one.
  const char *fresh(uint64_t offset) const;
  /// Copies what was written since the last call to the arena.
  void send(CUdeviceptr arena);

private:
  Gpu &gpu;
  std::map<uint64_t, ByteRange> places; ///< by arena offset
  std::vector<ByteRange> copies;
  char *block[2] = {};
  CUevent sent[2] = {};
  bool pending[2] = {};
  int current = 0;
  bool written = false;
};

/// Copies results back: all results of a function with one wait.
class ResultBlock {
public:
  ResultBlock(Gpu &gpu, const Program &program);
  /// Call after a function has run again.
  void expire() { fresh = false; }
  /// The bytes of a result; null if this range is not a result.
  const char *read(CUdeviceptr arena, uint64_t offset, uint64_t bytes);

private:
  Gpu &gpu;
  std::vector<ByteRange> copies;
  char *block = nullptr;
  bool fresh = false;
};

/// Merges ranges with gaps of at most `gap` bytes, sorted by offset,
/// and sets `at` of each. Returns the total number of bytes.
uint64_t joinByteRanges(std::vector<ByteRange> &stretches, uint64_t gap);

} // namespace kedge::rt::cuda
