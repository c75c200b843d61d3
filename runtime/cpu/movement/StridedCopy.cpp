#include "runtime/cpu/movement/StridedCopy.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/GemmPack.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

template <typename T>
void transposeTile(const T *src, int64_t srcStride, T *dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      dst[i * dstStride + j] = src[j * srcStride + i];
}

/// dst[i][j] = src[j][i]: i < rows, j < columns; both contiguous along their last index.
template <typename T>
void transposeBlocked(const T *src, int64_t srcStride, T *dst, int64_t dstStride, int64_t rows,
                      int64_t columns) {
  constexpr int64_t kTile = 16;
  for (int64_t j = 0; j < columns; j += kTile)
    for (int64_t i = 0; i < rows; i += kTile) {
      int64_t tileRows = std::min(kTile, rows - i), tileColumns = std::min(kTile, columns - j);
      const T *from = src + j * srcStride + i;
      T *to = dst + i * dstStride + j;
      if constexpr (sizeof(T) == 4) {
        if (tileRows == kTile && tileColumns == kTile) {
          for (int64_t y = 0; y < kTile; y += 4)
            for (int64_t x = 0; x < kTile; x += 4)
              detail::transpose4x4(reinterpret_cast<float *>(to + y * dstStride + x), dstStride,
                                   reinterpret_cast<const float *>(from + x * srcStride + y), srcStride);
          continue;
        }
      }
      transposeTile(from, srcStride, to, dstStride, tileRows, tileColumns);
    }
}

/// Most rows of a piece, so that there are enough pieces for all threads.
constexpr int64_t kPieceRows = 64;

} // namespace

StridedCopy::StridedCopy(std::vector<CopyDim> dims, int64_t srcOffset, int64_t dstOffset, DType type,
                         int threads)
    : srcOffset_(srcOffset), dstOffset_(dstOffset), elementBytes_(dtypeSize(type)), threads_(threads) {
  for (const CopyDim &d : dims)
    if (d.size == 0)
      return;
  outer_ = simplify(std::move(dims));
  arrange();
}

void StridedCopy::arrange() {
  if (!outer_.empty()) {
    column_ = outer_.back();
    outer_.pop_back();
  }
  // The dimension along which src is contiguous makes the rows, so that a piece is a transpose.
  auto row = outer_.end();
  if (column_.src != 1)
    row = std::find_if(outer_.begin(), outer_.end(), [](const CopyDim &d) { return d.src == 1; });
  if (row == outer_.end() && !outer_.empty())
    row = outer_.end() - 1;
  if (row != outer_.end()) {
    row_ = *row;
    outer_.erase(row);
    rowBlocks_ = (row_.size + kPieceRows - 1) / kPieceRows;
  }
  pieces_ = rowBlocks_;
  for (const CopyDim &d : outer_)
    pieces_ *= d.size;
}

template <typename T> void StridedCopy::piece(const T *src, T *dst, int64_t rows) const {
  if (column_.src == 1 && column_.dst == 1) {
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(dst + i * row_.dst, src + i * row_.src, sizeof(T) * column_.size);
  } else if (row_.src == 1 && column_.dst == 1 && rows > 1) {
    transposeBlocked(src, column_.src, dst, row_.dst, rows, column_.size);
  } else {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < column_.size; ++j)
        dst[i * row_.dst + j * column_.dst] = src[i * row_.src + j * column_.src];
  }
}

template <typename T> void StridedCopy::runAs(const T *src, T *dst) const {
  if (pieces_ == 1 && row_.size == 1 && column_.src == 1 && column_.dst == 1) {
    parallelFor(threads_, column_.size, grainFor(2 * sizeof(T)), [&](int64_t begin, int64_t end) {
      std::memcpy(dst + begin, src + begin, sizeof(T) * (end - begin));
    });
    return;
  }
  int64_t pieceBytes = 2 * sizeof(T) * std::min(row_.size, kPieceRows) * column_.size;
  parallelFor(threads_, pieces_, grainFor(pieceBytes), [&](int64_t begin, int64_t end) {
    for (int64_t flat = begin; flat < end; ++flat) {
      int64_t firstRow = flat % rowBlocks_ * kPieceRows, rest = flat / rowBlocks_;
      int64_t from = firstRow * row_.src, to = firstRow * row_.dst;
      for (size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        int64_t index = rest % outer_[d].size;
        from += index * outer_[d].src;
        to += index * outer_[d].dst;
      }
      piece(src + from, dst + to, std::min(kPieceRows, row_.size - firstRow));
    }
  });
}

void StridedCopy::run(const void *src, void *dst) const {
  if (pieces_ == 0)
    return;
  auto as = [&]<typename T>(TypeTag<T>) {
    runAs(static_cast<const T *>(src) + srcOffset_, static_cast<T *>(dst) + dstOffset_);
  };
  switch (elementBytes_) {
  case 1:
    return as(TypeTag<uint8_t>{});
  case 2:
    return as(TypeTag<uint16_t>{});
  case 4:
    return as(TypeTag<uint32_t>{});
  default:
    return as(TypeTag<uint64_t>{});
  }
}

} // namespace kedge::rt::cpu
