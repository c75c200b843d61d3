// For memory checkers (KEDGE_CUDA_BLOCKS=1): while a generated kernel runs, each of its operands is an
// allocation of its own. Inside the arena a checker could not see an access beyond the end of an operand.
#pragma once
#include "runtime/cuda/driver/Gpu.h"

namespace kedge::rt::cuda {

/// The operands of one launch, copied out of the arena.
class OperandBlocks {
public:
  /// Nothing for a launch without kernels, or whose kernels compute the
  /// addresses of operands from another operand's (updates of many tensors).
  static std::optional<OperandBlocks> of(Gpu &gpu, const Program &program, const Function &function,
                                         int launch, CUdeviceptr arena);
  OperandBlocks(OperandBlocks &&) = default;
  ~OperandBlocks();

  /// The address of the copy of the operand at this address in the arena.
  CUdeviceptr at(CUdeviceptr operand) const;
  /// Copies all of them back to the arena.
  void copyBack() const;

private:
  struct Range {
    uint64_t begin, end;    ///< in the arena
    CUdeviceptr memory = 0; ///< of the copy
  };
  OperandBlocks(Gpu &gpu, CUdeviceptr arena, std::vector<Range> ranges);

  Gpu *gpu;
  CUdeviceptr arena;
  std::vector<Range> ranges;
};

} // namespace kedge::rt::cuda
