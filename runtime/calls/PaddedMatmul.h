// Another way to compute a 16-bit product with a dimension that fills no whole accesses of 16 bytes (an odd
// vocabulary): on matrices that are wider, with zeros where they have nothing. Includes no CUDA header.
#pragma once
#include "runtime/calls/LibraryWork.h"

namespace kedge::rt::calls {

/// A matrix of such a product. Its dimensions are those of the model and, as `wide`, those that are
/// multiplied.
struct WideMatrix {
  int64_t rows = 0, width = 0, row = 0; ///< row: elements from one row to the next, in the model's memory
  int64_t wideRows = 0, wideWidth = 0;
  DType type = DType::BF16;
  bool isCopied = false; ///< its own memory does not hold the wide matrix, a copy does
  bool isSummed = false; ///< the padding takes part in sums: it has to be zero
  uint64_t offset = 0;   ///< of the copy in the block of all copies

  int64_t wideRow() const { return isCopied ? wideWidth : row; }
  uint64_t copyBytes() const {
    return isCopied ? static_cast<uint64_t>(wideRows * wideWidth) * dtypeSize(type) : 0;
  }
};

struct PaddedMatmul {
  MatmulShape shape; ///< of the wide matrices
  WideMatrix a, b, y;
  uint64_t bytes = 0; ///< of all copies

  /// Whether it is faster than `narrow`, the product itself, as far as shapes tell. An odd n or k costs
  /// cuBLASLt 13.1 three to four times the time on an H100 (1184x50257x768 in bf16: 1.03 ms, and 0.23 with
  /// the copies), an odd m nothing (docs/rationale/gpu-kernels.md, Rows of odd length).
  bool isFaster(const MatmulShape &narrow) const { return shape.n != narrow.n || shape.k != narrow.k; }
};

/// The product with every such dimension that some operand's rows have room for rounded up; nothing if there
/// is none, and for batches and epilogues. Columns that a bias lacks get what lies behind it.
std::optional<PaddedMatmul> paddedMatmulOf(const MatmulCalls &calls);

} // namespace kedge::rt::calls
