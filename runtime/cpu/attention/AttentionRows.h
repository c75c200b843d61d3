// The elementwise part of attention on tiles of scores, compiled for each instruction set
// like GemmTile. A tile has rows of gemmTile<T>().columns scores in units of log 2, so exp2
// turns them into weights. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include "runtime/calls/DropoutRow.h"

namespace kedge::rt::cpu {
using namespace calls;

template <typename T> struct AttentionRows {
  /// Forward; rows are keys, columns are queries. Turns scores into weights exp2(score - maximum),
  /// updates maximum and sum of every query, and sets rescale = exp2(old maximum - new maximum).
  void (*forward)(int64_t rows, T *scores, T *maximum, T *sum, T *rescale);
  /// x[r][c] *= factor[c].
  void (*scaleColumns)(int64_t rows, T *x, const T *factor);
  /// x[i] *= factor; `count` is a multiple of a tile's columns.
  void (*scale)(int64_t count, T *x, T factor);
  /// The sum of a[i] * b[i], in sixteen interleaved chains.
  T (*dot)(const T *a, const T *b, int64_t count);
  /// Backward; rows are queries, columns are keys. scores becomes weight = exp2(score
  /// - lse[r]); gradients, which is dP, becomes dS = weight * (dP - delta[r]) * scale.
  void (*backward)(int64_t rows, T *scores, T *gradients, const T *lse, const T *delta, T scale);
  /// Turns a score in natural units into log2(e) * cap * tanh(score / cap). Sets factor, unless null, to 1 -
  /// tanh^2.
  void (*cap)(int64_t rows, T *scores, T *factor, T cap);
  /// factors[i] = `kept` if element first + i of the row is kept, else 0; i < count. May write up to 64
  /// elements more.
  void (*drop)(const DropoutRow &row, uint64_t first, int64_t count, T kept, T *factors);
};

template <typename T> const AttentionRows<T> &attentionRows();

AttentionRows<float> attentionRowsAvx512F32();
AttentionRows<double> attentionRowsAvx512F64();
AttentionRows<float> attentionRowsAvx2F32();
AttentionRows<double> attentionRowsAvx2F64();
AttentionRows<float> attentionRowsSve256F32();
AttentionRows<double> attentionRowsSve256F64();
AttentionRows<float> attentionRowsBaseF32();
AttentionRows<double> attentionRowsBaseF64();

} // namespace kedge::rt::cpu
