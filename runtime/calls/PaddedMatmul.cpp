#include "runtime/calls/PaddedMatmul.h"

namespace kedge::rt::calls {
namespace {

constexpr int64_t kMultiple = 64; ///< as kedge-pad-rows: whole lines of 128 bytes
constexpr uint64_t kAccess = 16;  ///< bytes that matrix units load at once
constexpr uint64_t kAlignment =
    256; ///< of every operand: so a bias has room for kMultiple 16-bit numbers, too
static_assert(kMultiple * 2 <= kAlignment);

uint64_t roundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// `size`, wider if rows of a matrix have this size, fill no whole accesses and have room for more.
int64_t wideOf(int64_t size, std::initializer_list<WideMatrix> matrices) {
  const int64_t wide = static_cast<int64_t>(roundUp(static_cast<uint64_t>(size), kMultiple));
  for (const WideMatrix &matrix : matrices)
    if (matrix.width == size && matrix.row >= wide &&
        static_cast<uint64_t>(size) * dtypeSize(matrix.type) % kAccess != 0)
      return wide;
  return size;
}

void widen(WideMatrix &matrix, int64_t rows, int64_t width, uint64_t &bytes) {
  matrix.wideRows = rows, matrix.wideWidth = width;
  matrix.isCopied = rows > matrix.rows || width > matrix.row;
  matrix.offset = bytes;
  bytes = roundUp(bytes + matrix.copyBytes(), kAlignment);
}

bool isHalf(DType type) { return type == DType::BF16 || type == DType::F16; }

} // namespace

std::optional<PaddedMatmul> paddedMatmulOf(const MatmulCalls &calls) {
  const MatmulShape &s = calls.shape;
  if (!s.isPadded() || s.isEmpty() || s.batch != 1 || calls.offsetsA.size() != 1 || calls.broadcasts ||
      s.epilogue != Epilogue::None || !isHalf(s.typeA) || !isHalf(s.typeB))
    return std::nullopt;
  PaddedMatmul made{s,
                    {s.transA ? s.k : s.m, s.widthA(), s.rowA},
                    {s.transB ? s.n : s.k, s.widthB(), s.rowB},
                    {s.m, s.n, s.rowY}};
  made.a.type = s.typeA, made.b.type = s.typeB, made.y.type = s.type;
  const WideMatrix none;
  const int64_t m = wideOf(s.m, {s.transA ? made.a : none}),
                n = wideOf(s.n, {s.transB ? none : made.b, made.y}),
                k = wideOf(s.k, {s.transA ? none : made.a, s.transB ? made.b : none});
  if (m == s.m && n == s.n && k == s.k)
    return std::nullopt;
  widen(made.a, s.transA ? k : m, s.transA ? m : k, made.bytes);
  widen(made.b, s.transB ? n : k, s.transB ? k : n, made.bytes);
  widen(made.y, m, n, made.bytes);
  made.a.isSummed = made.b.isSummed = k != s.k;
  made.shape.m = m, made.shape.n = n, made.shape.k = k;
  made.shape.rowA = made.a.wideRow(), made.shape.rowB = made.b.wideRow(), made.shape.rowY = made.y.wideRow();
  return made;
}

} // namespace kedge::rt::calls
