// Copies between strided index spaces, which Transpose, Slice, Concat, Expand, Tile and other ops are made
// of.
#pragma once
#include "runtime/calls/CopyPlans.h"

namespace kedge::rt::cpu {
using namespace calls;

class StridedCopy {
public:
  StridedCopy() = default;
  /// Offsets in elements. Dimensions may be in any order. No two index tuples may refer to the same place in
  /// dst.
  StridedCopy(std::vector<CopyDim> dims, int64_t srcOffset, int64_t dstOffset, DType type, int threads);

  void run(const void *src, void *dst) const;

private:
  template <typename T> void runAs(const T *src, T *dst) const;
  template <typename T> void piece(const T *src, T *dst, int64_t rows) const;
  void arrange();

  std::vector<CopyDim> outer_;             ///< loops around one piece of the copy
  CopyDim row_{1, 0, 0}, column_{1, 1, 1}; ///< a piece: some rows of columns
  int64_t rowBlocks_ = 1;                  ///< number of pieces that the rows are divided into
  int64_t srcOffset_ = 0, dstOffset_ = 0, pieces_ = 0;
  size_t elementBytes_ = 1;
  int threads_ = 1;
};

} // namespace kedge::rt::cpu
