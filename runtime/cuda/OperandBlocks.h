// For a memory checker (KEDGE_CUDA_BLOCKS=1): while a generated kernel runs, each of its operands is an allocation of its
// own. In the arena every address is allocated, and an access beyond an operand is none beyond an allocation.
#pragma once
#include "runtime/cuda/Gpu.h"

namespace kedge::rt::cuda {

/// The operands of one launch: copies of their bytes in the arena.
class OperandBlocks {
public:
  /// Nothing for a launch whose kernels reach operands from another one's address (updates of many tensors), or that
  /// has no kernels.
  static std::optional<OperandBlocks> of(Gpu &gpu, const Program &program, const Function &function, int launch,
                                         CUdeviceptr arena);
  OperandBlocks(OperandBlocks &&) = default;
  ~OperandBlocks();

  /// Where the bytes at an operand's address in the arena lie meanwhile.
  CUdeviceptr at(CUdeviceptr operand) const;
  /// All of them to their places in the arena.
  void copyBack() const;

private:
  struct Range {
    uint64_t begin, end;    ///< of the arena
    CUdeviceptr memory = 0; ///< of the block
  };
  OperandBlocks(Gpu &gpu, CUdeviceptr arena, std::vector<Range> ranges);

  Gpu *gpu;
  CUdeviceptr arena;
  std::vector<Range> ranges;
};

} // namespace kedge::rt::cuda
