// The elementwise part of attention on tiles of scores, compiled once for each instruction set beside
// GemmTile. A tile has rows of gemmTile<T>().columns scores, in units of log 2: exp2 turns them into weights.
// Only <cstdint> behind it, as in GemmTile.h.
#pragma once
#include "runtime/calls/DropoutRow.h"

namespace kedge::rt::cpu {

template <typename T> struct AttentionRows {
  /// Forward; rows are keys, columns queries. With the maximum and sum so far of every query: turns scores
  /// into weights exp2(score - maximum), updates both, sets rescale = exp2(old maximum - new maximum).
  void (*forward)(int64_t rows, T *scores, T *maximum, T *sum, T *rescale);
  /// x[r][c] *= factor[c].
  void (*scaleColumns)(int64_t rows, T *x, const T *factor);
  /// Backward; rows are queries, columns keys. scores -> weights exp2(score - lse[r]); gradients dP -> dS =
  /// weight * (dP - delta[r]) * scale.
  void (*backward)(int64_t rows, T *scores, T *gradients, const T *lse, const T *delta, T scale);
  /// score (natural units) -> log2(e) * cap * tanh(score / cap), factor (when not null) = 1 - tanh^2.
  void (*cap)(int64_t rows, T *scores, T *factor, T cap);
  /// factors[i] = `kept` where element first + i of the row is kept, else 0; i < count. Writes up to 64 behind.
  void (*drop)(const DropoutRow &row, uint64_t first, int64_t count, T kept, T *factors);
};

template <typename T> const AttentionRows<T> &attentionRows();

AttentionRows<float> attentionRowsAvx512F32();
AttentionRows<double> attentionRowsAvx512F64();
AttentionRows<float> attentionRowsAvx2F32();
AttentionRows<double> attentionRowsAvx2F64();
AttentionRows<float> attentionRowsBaseF32();
AttentionRows<double> attentionRowsBaseF64();

} // namespace kedge::rt::cpu
