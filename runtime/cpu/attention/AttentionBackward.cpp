// train.attention_grad: weights are computed again from LSE, block by block; no T x T matrix, no atomics.
// Here queries are rows: dV^T = dO^T P and dK^T = Q^T dS take P and dS as they are; only dQ = dS K needs dS
// turned.
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/attention/AttentionMaskOps.h"
#include "runtime/cpu/attention/AttentionRows.h"
#include "runtime/cpu/attention/AttentionTile.h"
#include "runtime/cpu/attention/Sight.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr double kLog2e = 1.4426950408889634;

/// Where the inputs and outputs are.
template <typename S> struct GradientOperands {
  const S *dO, *q, *k, *v, *o;
  const void *lse, *mask;
  S *dQ, *dK, *dV;
};

/// S: type of the operands; E: of panels; T: of sums.
template <typename S, typename E> class AttentionBackward final : public LibraryKernel {
  using T = Compute<S>;
  static constexpr bool kHalf = kHalfPanels<E>;

public:
  AttentionBackward(AttentionShape shape, HeadView dO, int threads)
      : s_(shape), dO_(dO), threads_(threads), tile_(attentionTile<E>()), rows_(attentionRows<T>()) {
    MR_ = tile_.rows, NR_ = tile_.columns;
    // Blocks of queries begin at multiples of their size and are one chain of a tile, as are parts of blocks
    // of keys: what is hidden changes no order of sums.
    queryBlock_ = kTileChain / MR_ * MR_, keyBlock_ = 4 * NR_;
    // One task per head does all. With too few heads, tasks are parts of dK and dV, or of dQ, by blocks.
    split_ = s_.batch * s_.keyHeads < threads;
    int64_t D = s_.depth, Dv = s_.valueDepth, T_q = s_.queries;
    depth_ = tile_.panelDepth(D), valueDepth_ = tile_.panelDepth(Dv), queryDepth_ = tile_.panelDepth(T_q);
    queryRows_ = addPanels(panels(T_q) * depth_), queryColumns_ = addPanels(panels(D) * queryDepth_);
    gradRows_ = addPanels(panels(T_q) * valueDepth_), gradColumns_ = addPanels(panels(Dv) * queryDepth_);
    keyColumns_ = addPanels(keyBlock_ * depth_);
    keyRows_ = addPanels(keyBlock_ * ((D + NR_ - 1) / NR_) * NR_);
    valueColumns_ = addPanels(keyBlock_ * valueDepth_);
    scores_ = add(queryBlock_ * keyBlock_), grads_ = add(queryBlock_ * keyBlock_);
    factors_ = add(s_.softcap != 0 ? queryBlock_ * keyBlock_ : 0);
    drops_ = add(s_.drops() ? queryBlock_ * keyBlock_ : 0),
    line_ = add(s_.drops() ? keyBlock_ + kBehindLine : 0);
    transposed_ = addPanels(queryBlock_ * keyBlock_);
    transposedRest_ = addPanels(kRestApart<E> ? queryBlock_ * keyBlock_ : 0);
    weightPairs_ = addPanels(kHalf ? queryBlock_ * NR_ : 0);
    gradPairs_ = addPanels(kHalf ? queryBlock_ * NR_ : 0);
    dKSum_ = add(panels(D) * keyBlock_), dVSum_ = add(panels(Dv) * keyBlock_);
    dQSum_ = add(T_q * s_.group() * D);
    stats_ = add(2 * T_q);
    documents_ = scratch_.template add<int32_t>(Sight::tableSize(s_));
  }

  size_t workspaceBytes() const override { return scratch_.bytes() * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    GradientOperands<S> operands = readOperands(in, out);
    int64_t heads = s_.batch * s_.keyHeads, parts = split_ ? 2 * threads_ : 1;
    parallelParts(threads_, heads * parts, [&](int64_t task) {
      int64_t head = task / parts, part = task % parts, sample = head / s_.keyHeads;
      char *scratch = static_cast<char *>(workspace) + threadSlot() * scratch_.bytes();
      Job job{operands,
              scratch,
              sample,
              head % s_.keyHeads,
              0,
              s_.keys,
              0,
              s_.queries,
              true,
              true,
              s_.drops() ? s_.dropoutRow(in, sample) : DropoutRow{},
              Sight(s_, in, sample, reinterpret_cast<int32_t *>(scratch + documents_))};
      if (split_)
        restrict(job, part, parts / 2);
      keyHead(job);
    });
  }

private:
  struct Job {
    const GradientOperands<S> &operands;
    char *scratch;
    int64_t b, hk, keyBegin, keyEnd, queryBegin, queryEnd;
    bool wantKV, wantQ;
    DropoutRow dropout;
    Sight sight;
  };
  /// Of queries, by their numbers or within a block.
  struct Range {
    int64_t begin, end;
  };

  static constexpr int64_t kBehindLine = 64;

  int64_t panels(int64_t size) const { return (size + MR_ - 1) / MR_ * MR_; }
  size_t add(int64_t count) { return scratch_.template add<T>(count); }
  size_t addPanels(int64_t count) { return scratch_.template add<E>(count); }
  T *at(const Job &job, size_t place) const { return reinterpret_cast<T *>(job.scratch + place); }
  E *panelsAt(const Job &job, size_t place) const { return reinterpret_cast<E *>(job.scratch + place); }

  GradientOperands<S> readOperands(Inputs in, Outputs out) const {
    auto source = [&](int i) { return static_cast<const S *>(in[i]); };
    auto result = [&](int i) { return static_cast<S *>(out[i]); };
    const void *mask = s_.mask.index < 0 ? nullptr : in[s_.mask.index];
    if (s_.packed)
      return {source(0), source(1), source(1), source(1), source(2),
              in[3],     mask,      result(0), result(0), result(0)};
    return {source(0), source(1), source(2), source(3), source(4),
            in[5],     mask,      result(0), result(1), result(2)};
  }

  /// Parts 0..n-1: dK and dV of some key blocks; n..2n-1: dQ of some query panels.
  void restrict(Job &job, int64_t part, int64_t n) const {
    auto share = [&](int64_t size, int64_t unit, int64_t i) {
      return std::min(size, (size + unit - 1) / unit * i / n * unit);
    };
    job.wantKV = part < n, job.wantQ = !job.wantKV;
    if (job.wantKV)
      job.keyBegin = share(s_.keys, keyBlock_, part), job.keyEnd = share(s_.keys, keyBlock_, part + 1);
    else
      job.queryBegin = share(s_.queries, MR_, part - n), job.queryEnd = share(s_.queries, MR_, part - n + 1);
  }

  void keyHead(const Job &job) const {
    if (job.wantQ)
      std::fill_n(at(job, dQSum_), s_.queries * s_.group() * s_.depth, T(0));
    // dQ sums over key blocks, dK and dV over the group's heads: with one head per group its panels are
    // packed once, else for every key block.
    if (s_.group() == 1)
      packQueries(job, job.hk, {0, s_.queries});
    for (int64_t key = job.keyBegin; key < job.keyEnd; key += keyBlock_) {
      int64_t keys = std::min(keyBlock_, s_.keys - key);
      packKeys(job, key, keys);
      for (int64_t g = 0; g < s_.group(); ++g) {
        const Range seeing = seeingBlock(job, key, keys);
        if (s_.group() > 1)
          packQueries(job, job.hk * s_.group() + g, seeing);
        headAndKeys(job, g, seeing, key, keys);
      }
      if (job.wantKV) {
        storeSum(job, dKSum_, s_.depth, job.operands.dK, s_.k, key, keys);
        storeSum(job, dVSum_, s_.valueDepth, job.operands.dV, s_.v, key, keys);
      }
    }
    if (job.wantQ)
      storeQueries(job);
  }

  /// The queries that the job computes of those that see a block of keys; from a multiple of MR on.
  Range seeingBlock(const Job &job, int64_t key, int64_t keys) const {
    const int64_t end = panels(job.sight.endQuery(key + keys - 1));
    return {std::max(job.queryBegin, job.sight.firstQuery(key) / MR_ * MR_), std::min(job.queryEnd, end)};
  }

  /// Rows of Q and dO in both packings; LSE and delta = sum dO O of every query.
  void packQueries(const Job &job, int64_t h, Range range) const {
    const S *q = job.operands.q + s_.q.at(job.b, h), *dO = job.operands.dO + dO_.at(job.b, h);
    packSides(Strided<S>{q, s_.q.row, 1}, s_.depth, panelsAt(job, queryRows_), panelsAt(job, queryColumns_),
              range);
    packSides(Strided<S>{dO, dO_.row, 1}, s_.valueDepth, panelsAt(job, gradRows_),
              panelsAt(job, gradColumns_), range);
    const S *o = job.operands.o + s_.o.at(job.b, h);
    const T *lse = static_cast<const T *>(job.operands.lse) + (job.b * s_.queryHeads + h) * s_.queries;
    T *lse2 = at(job, stats_), *delta = lse2 + s_.queries;
    for (int64_t i = range.begin; i < range.end; ++i) {
      // A query that sees nothing: weights 2^(s - inf) = 0.
      lse2[i] = lse[i] == -std::numeric_limits<T>::infinity() ? -lse[i] : lse[i] * static_cast<T>(kLog2e);
      delta[i] = dot(dO + i * dO_.row, o + i * s_.o.row, s_.valueDepth);
    }
  }

  T dot(const S *a, const S *b, int64_t count) const {
    if constexpr (kIsHalf<S>) {
      constexpr int64_t kPart = 128;
      T left[kPart], right[kPart], sum = 0;
      for (int64_t i = 0; i < count; i += kPart) {
        const int64_t part = std::min(kPart, count - i);
        convertRows(1, part, a + i, part, left, part);
        convertRows(1, part, b + i, part, right, part);
        sum += rows_.dot(left, right, part);
      }
      return sum;
    } else {
      return rows_.dot(a, b, count);
    }
  }

  /// rows: panels [depth][MR queries]; columns: panels [queries][MR of depth].
  void packSides(Strided<S> source, int64_t depth, E *rows, E *columns, Range range) const {
    for (int64_t i = range.begin; i < range.end; i += MR_) {
      int64_t count = std::min(MR_, s_.queries - i);
      packA<E>(rows + i * tile_.panelDepth(depth), tile_.panelRows(count), source.at(i, 0), count, depth);
    }
    for (int64_t d = 0; range.begin < range.end && d < depth; d += MR_) {
      int64_t count = std::min(MR_, depth - d), width = tile_.panelRows(count);
      packA<E>(columns + d * queryDepth_ + range.begin * width, width, source.transposed().at(d, range.begin),
               count, range.end - range.begin);
    }
  }

  /// Keys in columns for scores, which are in units of log 2 unless they are capped first; in rows for dQ.
  void packKeys(const Job &job, int64_t key, int64_t keys) const {
    Strided<S> k{job.operands.k + s_.k.at(job.b, job.hk) + key * s_.k.row, s_.k.row, 1};
    Strided<S> v{job.operands.v + s_.v.at(job.b, job.hk) + key * s_.v.row, s_.v.row, 1};
    for (int64_t j = 0; j < keys; j += NR_) {
      int64_t count = std::min(NR_, keys - j);
      packB<E>(panelsAt(job, keyColumns_) + j * depth_, NR_, k.at(j, 0), count, s_.depth);
      packB<E>(panelsAt(job, valueColumns_) + j * valueDepth_, NR_, v.at(j, 0), count, s_.valueDepth);
      if constexpr (!kHalf) // which would round again
        rows_.scale(NR_ * s_.depth, at(job, keyColumns_) + j * s_.depth, scoreScale());
    }
    for (int64_t d = 0; d < s_.depth; d += NR_) {
      E *panel = panelsAt(job, keyRows_) + d * keyBlock_;
      packB<E>(panel, NR_, k.transposed().at(d, 0), std::min(NR_, s_.depth - d), keys);
      std::fill(panel + tile_.panelDepth(keys) * NR_, panel + keyBlock_ * NR_, E{});
    }
  }

  /// Of K or of scores.
  T scoreScale() const { return static_cast<T>(s_.softcap != 0 ? s_.scale : s_.scale * kLog2e); }

  /// The queries of one head against one block of keys.
  void headAndKeys(const Job &job, int64_t g, Range seeing, int64_t key, int64_t keys) const {
    bool started = g > 0;
    const TileInUse<E> use(tile_);
    for (int64_t query = seeing.begin / queryBlock_ * queryBlock_; query < seeing.end; query += queryBlock_) {
      blockPair(job, g, query, std::min(queryBlock_, seeing.end - query), key, keys, started);
      started = true;
    }
    if (!started && job.wantKV) {
      std::fill_n(at(job, dKSum_), panels(s_.depth) * keyBlock_, T(0));
      std::fill_n(at(job, dVSum_), panels(s_.valueDepth) * keyBlock_, T(0));
    }
  }

  /// Scores of a panel of keys lie as [queries][NR].
  void blockPair(const Job &job, int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys,
                 bool accumulate) const {
    int64_t h = job.hk * s_.group() + g;
    if (s_.drops())
      drawDropout(job, h, query, queries, key, keys);
    for (int64_t j = 0; j < keys; j += NR_) {
      const int64_t base = j * queryBlock_, count = std::min(NR_, keys - j);
      const Range rows = seeingPanel(job, query, queries, key + j, count);
      T *scores = at(job, scores_) + base, *grads = at(job, grads_) + base;
      for (int64_t i = rows.begin; i < rows.end; i += MR_) {
        int64_t count = std::min(MR_, s_.queries - query - i);
        tileInto(depth_, panelsAt(job, queryRows_) + (query + i) * depth_,
                 panelsAt(job, keyColumns_) + j * depth_, scores + i * NR_, count, NR_, false);
        tileInto(valueDepth_, panelsAt(job, gradRows_) + (query + i) * valueDepth_,
                 panelsAt(job, valueColumns_) + j * valueDepth_, grads + i * NR_, count, NR_, false);
      }
      weigh(job, h, query, rows, key + j, count, scores, grads, at(job, factors_) + base,
            at(job, drops_) + base);
      if (job.wantQ)
        turn(job, grads, rows, queries, j);
      if (job.wantKV)
        addKeyGradients(job, query, rows, j, scores, grads, accumulate);
    }
    if (job.wantQ)
      addQueryGradients(job, g, query, queries, key, keys);
  }

  /// Rows of the block that see keys of a panel; they begin at a multiple of MR and end at one, or with the
  /// block. Both ends rise from panel to panel.
  Range seeingPanel(const Job &job, int64_t query, int64_t queries, int64_t key, int64_t keys) const {
    const int64_t begin = std::clamp<int64_t>((job.sight.firstQuery(key) - query) / MR_ * MR_, 0, queries);
    return {begin, std::clamp<int64_t>(panels(job.sight.endQuery(key + keys - 1) - query), begin, queries)};
  }

  void weigh(const Job &job, int64_t h, int64_t query, Range rows, int64_t key, int64_t keys, T *scores,
             T *grads, T *factors, const T *drops) const {
    const int64_t row = rows.begin, count = rows.end - row;
    if (count <= 0)
      return;
    T *tile = scores + row * NR_;
    query += row;
    if constexpr (kHalf)
      rows_.scale(count * NR_, tile, scoreScale());
    if (s_.softcap != 0)
      rows_.cap(count, tile, factors + row * NR_, static_cast<T>(s_.softcap));
    if (job.operands.mask)
      addMask(s_.mask, job.operands.mask,
              job.b * s_.mask.batch + h * s_.mask.head + query * s_.mask.query + key * s_.mask.key,
              s_.mask.query, s_.mask.key, tile, NR_, count, keys);
    if (keys < NR_ || !job.sight.isWhole(query, count, key, NR_)) // keys that are missing are seen by none
      hideInColumns(job.sight, tile, NR_, count, query, key);
    auto multiply = [&](T *values, const T *by) {
      for (int64_t i = row * NR_; i < rows.end * NR_; ++i)
        values[i] *= by[i];
    };
    if (s_.drops())
      multiply(grads, drops);
    const T *lse2 = at(job, stats_), *delta = lse2 + s_.queries;
    rows_.backward(count, tile, grads + row * NR_, lse2 + query, delta + query, static_cast<T>(s_.scale));
    if (s_.drops())
      multiply(scores, drops);
    if (s_.softcap != 0)
      multiply(grads, factors);
  }

  /// Factors of the probabilities, as the panels of scores lie; zeros behind the last key that is seen.
  void drawDropout(const Job &job, int64_t h, int64_t query, int64_t queries, int64_t key,
                   int64_t keys) const {
    T *line = at(job, line_), *drops = at(job, drops_);
    const Range rows = seeingPanel(job, query, queries, key, keys);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      int64_t seen = std::clamp<int64_t>(job.sight.endKey(query + i) - key, 0, keys);
      rows_.drop(job.dropout, s_.dropoutElement(job.b, h, query + i, key), seen,
                 static_cast<T>(s_.dropout.kept), line);
      std::fill(line + seen, line + (keys + NR_ - 1) / NR_ * NR_, T(0));
      for (int64_t j = 0; j < keys; j += NR_)
        std::copy_n(line + j, NR_, drops + j * queryBlock_ + i * NR_);
    }
  }

  /// Scores and gradients are gone after it.
  void addKeyGradients(const Job &job, int64_t query, Range rows, int64_t j, T *scores, T *grads,
                       bool accumulate) const {
    const int64_t row = rows.begin, count = rows.end - row, steps = tile_.panelDepth(count);
    if (count == 0 && accumulate)
      return;
    auto sum = [&](size_t columns, int64_t depth, WeightsOfB<E> right, size_t into) {
      for (int64_t d = 0; d < depth; d += MR_) {
        int64_t count = std::min(MR_, depth - d), width = tile_.panelRows(count);
        const E *left = panelsAt(job, columns) + d * queryDepth_ + (query + row) * width;
        T *sums = at(job, into) + j * panels(depth) + d * NR_;
        tileInto(steps, left, right.panel, sums, count, NR_, accumulate);
        if constexpr (kRestApart<E>)
          tileInto(steps, left, right.rest, sums, count, NR_, true);
      }
    };
    const auto weights = [&](T *values, size_t place) {
      return weightsOfB(values + row * NR_, count, panelsAt(job, place));
    };
    sum(gradColumns_, s_.valueDepth, weights(scores, weightPairs_), dVSum_);
    sum(queryColumns_, s_.depth, weights(grads, gradPairs_), dKSum_);
  }

  /// dS of one panel of keys into panels [keys][MR queries] for dQ; a panel has keyBlock_ rows.
  void turn(const Job &job, const T *grads, Range rows, int64_t queries, int64_t j) const {
    for (int64_t i = rows.begin; i < rows.end; i += MR_) {
      int64_t count = std::min(MR_, queries - i), width = tile_.panelRows(count);
      int64_t place = i * keyBlock_ + j * width;
      E *panel = panelsAt(job, transposed_) + place;
      if constexpr (kHalf)
        kWeightPanelsAmx.runs(numbers(panel),
                              kRestApart<E> ? numbers(panelsAt(job, transposedRest_) + place)
                                            : numbers(panel) + tile_.depth * width,
                              grads + i * NR_, count);
      else
        packPanel(panel, width, Strided<T>{grads + i * NR_, NR_, 1}, count, NR_);
    }
  }

  static uint16_t *numbers(E *panel) { return reinterpret_cast<uint16_t *>(panel); }

  void addQueryGradients(const Job &job, int64_t g, int64_t query, int64_t queries, int64_t key,
                         int64_t keys) const {
    for (int64_t i = 0; i < queries; i += MR_) {
      int64_t count = std::min(MR_, queries - i), width = tile_.panelRows(count);
      auto rowsOf = [&](int64_t panel) {
        return seeingPanel(job, query, queries, key + panel, std::min(NR_, keys - panel));
      };
      // Panels of keys that queries of the tile see; others were not computed.
      int64_t first = 0;
      while (first < keys && rowsOf(first).end <= i)
        first += NR_;
      int64_t end = first;
      while (end < keys && rowsOf(end).begin <= i)
        end += NR_;
      if (first == end)
        continue;
      auto multiply = [&](size_t turned, int64_t d, int64_t from, int64_t to) {
        tile_.run(to - from, panelsAt(job, turned) + i * keyBlock_ + from * width,
                  panelsAt(job, keyRows_) + d * keyBlock_ + from * NR_,
                  at(job, dQSum_) + (g * s_.queries + query + i) * s_.depth + d, s_.depth,
                  static_cast<int>(count), static_cast<int>(std::min(NR_, s_.depth - d)), true, nullptr);
      };
      const int64_t part = kHalf ? keyBlock_ : kTileChain;
      for (int64_t d = 0; d < s_.depth; d += NR_)
        for (int64_t from = first, to = first; from < end; from = to) {
          to = std::min(end, (from / part + 1) * part);
          multiply(transposed_, d, from, to);
          if constexpr (kRestApart<E>)
            multiply(transposedRest_, d, from, to);
        }
    }
  }

  void tileInto(int64_t k, const E *a, const E *b, T *c, int64_t rows, int64_t ldc, bool accumulate) const {
    tile_.run(k, a, b, c, ldc, static_cast<int>(rows), static_cast<int>(NR_), accumulate, nullptr);
  }

  /// Sums lie as [key panel][depth][NR keys].
  void storeSum(const Job &job, size_t sums, int64_t depth, S *out, const HeadView &view, int64_t key,
                int64_t keys) const {
    S *rows = out + view.at(job.b, job.hk) + key * view.row;
    for (int64_t j = 0; j < keys; j += NR_)
      storeTransposed(at(job, sums) + j * panels(depth), NR_, rows + j * view.row, view.row,
                      std::min(NR_, keys - j), depth);
  }

  void storeQueries(const Job &job) const {
    for (int64_t g = 0; g < s_.group(); ++g) {
      const T *sums = at(job, dQSum_) + g * s_.queries * s_.depth;
      S *rows = job.operands.dQ + s_.q.at(job.b, job.hk * s_.group() + g);
      if (int64_t first = job.queryBegin; first < job.queryEnd)
        convertRows(job.queryEnd - first, s_.depth, sums + first * s_.depth, s_.depth,
                    rows + first * s_.q.row, s_.q.row);
    }
  }

  AttentionShape s_;
  HeadView dO_;
  int threads_;
  GemmTile<E> tile_;
  AttentionRows<T> rows_;
  int64_t MR_, NR_, queryBlock_, keyBlock_;
  int64_t depth_, valueDepth_, queryDepth_; ///< steps of k in panels
  bool split_;
  Scratch scratch_;
  size_t queryRows_, queryColumns_, gradRows_, gradColumns_, keyColumns_, keyRows_, valueColumns_, scores_,
      grads_, factors_, drops_, line_, transposed_, transposedRest_, weightPairs_, gradPairs_, dKSum_, dVSum_,
      dQSum_, stats_, documents_;
};

std::unique_ptr<LibraryKernel> makeAttentionGrad(const LibraryCall &call, int threads) {
  bool packed = boolAttr(call, "packed", false);
  size_t tensors = packed ? 4 : 6, results = packed ? 1 : 3;
  expectCounts(call, tensors, tensors + 6, results, results);
  const TensorDesc &o = call.inputs[packed ? 2 : 4];
  AttentionShape shape = readAttention(call, 1, o, tensors);
  expectShape(call, call.inputs[0], o.shape, "dO");
  for (size_t i = 0; i < results; ++i) {
    expectShape(call, call.outputs[i], call.inputs[1 + i].shape, "a gradient");
    expectSameType(call, call.outputs[i], call.inputs[1 + i]);
  }
  HeadView dO = shape.o;
  return dispatchFloat(call, o.type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
    return forPanels<AttentionBackward, S>(shape, dO, threads);
  });
}

} // namespace

KEDGE_REGISTER(AttentionGrad) { registerKernel("train.attention_grad", makeAttentionGrad); }

} // namespace kedge::rt::cpu
