// train.attention: online softmax over blocks of keys. Scores are computed as K Q^T, keys as rows, so that
// the softmax runs along columns, one query a vector lane, and the weights are at once the packed right-hand
// side of V^T P.
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/attention/AttentionMaskOps.h"
#include "runtime/cpu/attention/AttentionRows.h"
#include "runtime/cpu/attention/AttentionTile.h"
#include "runtime/cpu/attention/Sight.h"
#include <cmath>
#include <numeric>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453;

/// S: type of the operands; E: of panels; T: of sums.
template <typename S, typename E> class AttentionForward final : public LibraryKernel {
  using T = Compute<S>;
  static constexpr bool kHalf = kHalfPanels<E>;

public:
  AttentionForward(AttentionShape shape, int threads)
      : s_(shape), threads_(threads), tile_(attentionTile<E>()), rows_(attentionRows<T>()) {
    width_ = tile_.columns;
    keyBlock_ =
        std::min<int64_t>(240 / tile_.rows * tile_.rows, std::max<int64_t>(1, panels(s_.keys)) * tile_.rows);
    // Blocks begin at multiples of keyBlock_, and in the first one at a multiple of keyStep_; values are
    // added up in parts of a block, each in one chain of the tile. So a score's place in the order of sums
    // depends on its key alone, not on what is hidden.
    keyStep_ = std::lcm(std::lcm<int64_t>(tile_.rows, kChains), tile_.depth);
    keyPart_ = kHalf ? keyBlock_ : kTileChain / keyStep_ * keyStep_;
    int64_t heads = s_.batch * s_.keyHeads;
    queryPanels_ = (s_.queries + width_ - 1) / width_;
    // Too few heads for all threads: several tasks a head, each of which packs K and V for itself.
    splits_ = heads >= 4 * threads ? 1
                                   : std::clamp<int64_t>(4 * threads / std::max<int64_t>(heads, 1), 1,
                                                         std::max<int64_t>(1, queryPanels_ / 2));
    depth_ = tile_.panelDepth(s_.depth), valueKeys_ = tile_.panelDepth(s_.keys);
    keysAt_ = scratch_.template add<E>(panels(s_.keys) * tile_.rows * depth_);
    valuesAt_ = scratch_.template add<E>(panels(s_.valueDepth) * tile_.rows * valueKeys_);
    queryAt_ = scratch_.template add<E>(width_ * depth_);
    scoresAt_ = scratch_.template add<T>(width_ * keyBlock_);
    weightsAt_ = kHalf ? scratch_.template add<E>(width_ * keyBlock_) : scoresAt_;
    outAt_ = scratch_.template add<T>(width_ * panels(s_.valueDepth) * tile_.rows);
    statsAt_ = scratch_.template add<T>(3 * width_);
    lineAt_ = scratch_.template add<T>(s_.drops() ? keyBlock_ + kBehindLine : 0);
    documentsAt_ = scratch_.template add<int32_t>(Sight::tableSize(s_));
  }

  size_t workspaceBytes() const override { return scratch_.bytes() * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const S *q = static_cast<const S *>(in[0]);
    const S *k = s_.packed ? q : static_cast<const S *>(in[1]),
            *v = s_.packed ? q : static_cast<const S *>(in[2]);
    const void *mask = s_.mask.index < 0 ? nullptr : in[s_.mask.index],
               *sinks = s_.sinks < 0 ? nullptr : in[s_.sinks];
    int64_t tasks = s_.batch * s_.keyHeads * splits_;
    parallelParts(threads_, tasks, [&](int64_t task) {
      int64_t head = task / splits_, split = task % splits_, sample = head / s_.keyHeads;
      char *scratch = static_cast<char *>(workspace) + threadSlot() * scratch_.bytes();
      Job job{q,
              mask,
              sinks,
              static_cast<S *>(out[0]),
              static_cast<T *>(out[1]),
              scratch,
              sample,
              s_.drops() ? s_.dropoutRow(in, sample) : DropoutRow{},
              Sight(s_, in, sample, reinterpret_cast<int32_t *>(scratch + documentsAt_))};
      keyHead(job, k, v, head % s_.keyHeads, queryPanels_ * split / splits_,
              queryPanels_ * (split + 1) / splits_);
    });
  }

private:
  struct Job {
    const S *q;
    const void *mask, *sinks;
    S *o;
    T *lse;
    char *scratch;
    int64_t b;
    DropoutRow dropout;
    Sight sight;
  };

  int64_t panels(int64_t size) const { return (size + tile_.rows - 1) / tile_.rows; }
  template <typename P = T> P *at(const Job &job, size_t place) const {
    return reinterpret_cast<P *>(job.scratch + place);
  }

  void keyHead(const Job &job, const S *k, const S *v, int64_t hk, int64_t firstPanel,
               int64_t lastPanel) const {
    if (firstPanel == lastPanel)
      return;
    const int64_t lastQuery = std::min(s_.queries, lastPanel * width_) - 1, MR = tile_.rows;
    const int64_t begin = job.sight.firstKey(firstPanel * width_) / keyBlock_ * keyBlock_,
                  end = endOfBlocks(job.sight.endKey(lastQuery), s_.keys);
    Strided<S> keyRows{k + s_.k.at(job.b, hk), s_.k.row, 1}, values{v + s_.v.at(job.b, hk), 1, s_.v.row};
    for (int64_t j = begin; j < end; j += MR) {
      int64_t count = std::min(MR, s_.keys - j);
      packA<E>(at<E>(job, keysAt_) + j * depth_, tile_.panelRows(count), keyRows.at(j, 0), count, s_.depth);
    }
    for (int64_t d = 0; begin < end && d < s_.valueDepth; d += MR) {
      int64_t count = std::min(MR, s_.valueDepth - d), width = tile_.panelRows(count);
      packA<E>(at<E>(job, valuesAt_) + d * valueKeys_ + begin * width, width, values.at(d, begin), count,
               end - begin);
    }
    for (int64_t g = 0; g < s_.group(); ++g)
      for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
        queryPanel(job, hk * s_.group() + g, panel * width_);
  }

  /// Where blocks end that hold the keys before `end`: whole chains of sums, for the reason of keyStep_.
  static int64_t endOfBlocks(int64_t end, int64_t keys) {
    return std::min(keys, (end + kChains - 1) / kChains * kChains);
  }

  /// One vector row of queries from `query` on, all their keys.
  void queryPanel(const Job &job, int64_t h, int64_t query) const {
    const TileInUse<E> use(tile_);
    E *packed = at<E>(job, queryAt_);
    T *maximum = at(job, statsAt_), *sum = maximum + width_, *rescale = sum + width_;
    T *sums = at(job, outAt_);
    int64_t count = std::min<int64_t>(width_, s_.queries - query);
    packB<E>(packed, width_, Strided<S>{job.q + s_.q.at(job.b, h) + query * s_.q.row, s_.q.row, 1}, count,
             s_.depth);
    if constexpr (!kHalf) // which would round again
      rows_.scale(width_ * s_.depth, packed, scoreScale());
    // A sink is one score more, whose value is 0.
    std::fill_n(maximum, width_,
                job.sinks ? maskValue<T>({.type = s_.sinkType}, job.sinks, h)
                          : -std::numeric_limits<T>::infinity());
    std::fill_n(sum, width_, job.sinks ? T(1) : T(0));
    const int64_t begin = job.sight.firstKey(query), last = job.sight.endKey(query + count - 1),
                  end = endOfBlocks(last, s_.keys);
    bool isFirst = true;
    for (int64_t block = begin / keyBlock_ * keyBlock_; begin < last && block < end; block += keyBlock_) {
      const int64_t key = block + std::max<int64_t>(0, begin - block) / keyStep_ * keyStep_;
      keyBlock(job, h, query, count, key, std::min(block + keyBlock_, end) - key, isFirst);
      isFirst = false;
    }
    if (isFirst)
      std::fill_n(sums, width_ * s_.valueDepth, T(0));
    finish(job, h, query, count, maximum, sum, rescale, sums);
  }

  void keyBlock(const Job &job, int64_t h, int64_t query, int64_t count, int64_t key, int64_t keys,
                bool isFirst) const {
    T *scores = at(job, scoresAt_), *maximum = at(job, statsAt_), *sum = maximum + width_,
      *rescale = sum + width_;
    const E *packed = at<E>(job, queryAt_), *keyPanels = at<E>(job, keysAt_),
            *valuePanels = at<E>(job, valuesAt_);
    T *sums = at(job, outAt_);
    int64_t MR = tile_.rows;
    for (int64_t j = 0; j < keys; j += MR) {
      // A panel of K is as wide as the keys of the whole tensor make it; rows past `keys` are not asked for.
      int64_t panelKeys = std::min(MR, s_.keys - key - j), width = tile_.panelRows(panelKeys);
      runTile(depth_, keyPanels + (key + j) * depth_, packed, scores + j * width_,
              std::min(panelKeys, keys - j), width);
    }
    if constexpr (kHalf)
      rows_.scale(keys * width_, scores, scoreScale());
    if (s_.softcap != 0)
      rows_.cap(keys, scores, nullptr, static_cast<T>(s_.softcap));
    if (job.mask)
      addMask(s_.mask, job.mask,
              job.b * s_.mask.batch + h * s_.mask.head + query * s_.mask.query + key * s_.mask.key,
              s_.mask.key, s_.mask.query, scores, width_, keys, count);
    if (!job.sight.isWhole(query, count, key, keys))
      hideInRows(job.sight, scores, width_, keys, key, query);
    rows_.forward(keys, scores, maximum, sum, rescale);
    if (s_.drops())
      drop(job, h, query, count, key, keys, scores);
    if (!isFirst)
      rows_.scaleColumns(s_.valueDepth, sums, rescale);
    addValues(valuePanels, key, keys, weightsOfB(scores, keys, at<E>(job, weightsAt_)), sums, !isFirst);
  }

  /// sums = V^T P (+ sums if `accumulate`)
  void addValues(const E *values, int64_t key, int64_t keys, WeightsOfB<E> weights, T *sums,
                 bool accumulate) const {
    const int64_t block = key / keyBlock_ * keyBlock_;
    for (int64_t d = 0; d < s_.valueDepth; d += tile_.rows) {
      int64_t rows = std::min<int64_t>(tile_.rows, s_.valueDepth - d), width = tile_.panelRows(rows);
      auto multiply = [&](int64_t at, int64_t count, const E *with, bool more) {
        tile_.run(tile_.panelDepth(count), values + d * valueKeys_ + (key + at) * width, with + at * width_,
                  sums + d * width_, width_, static_cast<int>(rows), static_cast<int>(width_), more, nullptr);
      };
      for (int64_t at = 0, end = 0; at < keys; at = end) {
        end = std::min(keys, ((key + at - block) / keyPart_ + 1) * keyPart_ + block - key);
        multiply(at, end - at, weights.panel, accumulate || at > 0);
        if constexpr (kRestApart<E>)
          multiply(at, end - at, weights.rest, true);
      }
    }
  }

  /// Of Q or of scores, which are in units of log 2 unless they are capped first.
  T scoreScale() const { return static_cast<T>(s_.softcap != 0 ? s_.scale : s_.scale * kLog2e); }

  /// Zeroes weights; finish() multiplies those that stay.
  void drop(const Job &job, int64_t h, int64_t query, int64_t count, int64_t key, int64_t keys,
            T *scores) const {
    T *line = at(job, lineAt_);
    for (int64_t c = 0; c < count; ++c) {
      int64_t seen = std::clamp<int64_t>(job.sight.endKey(query + c) - key, 0, keys);
      rows_.drop(job.dropout, s_.dropoutElement(job.b, h, query + c, key), seen, T(1), line);
      for (int64_t r = 0; r < seen; ++r)
        scores[r * width_ + c] *= line[r];
    }
  }

  /// `width` rows are computed (the panel's), `rows` of them are wanted: the rest would lie in the next tile.
  void runTile(int64_t k, const E *a, const E *b, T *c, int64_t rows, int64_t width) const {
    if (tile_.panelRows(rows) == width) {
      tile_.run(k, a, b, c, width_, static_cast<int>(rows), static_cast<int>(width_), false, nullptr);
      return;
    }
    alignas(64) T whole[kMostTileElements];
    tile_.run(k, a, b, whole, width_, static_cast<int>(width), static_cast<int>(width_), false, nullptr);
    std::copy_n(whole, rows * width_, c);
  }

  void finish(const Job &job, int64_t h, int64_t query, int64_t count, const T *maximum, const T *sum,
              T *inverse, T *sums) const {
    T *lse = job.lse + (job.b * s_.queryHeads + h) * s_.queries + query;
    T kept = static_cast<T>(s_.dropout.kept);
    for (int64_t i = 0; i < width_; ++i)
      inverse[i] = sum[i] == 0 ? T(0) : kept / sum[i];
    for (int64_t i = 0; i < count; ++i)
      lse[i] = sum[i] == 0 ? -std::numeric_limits<T>::infinity()
                           : (maximum[i] + std::log2(sum[i])) * static_cast<T>(kLn2);
    rows_.scaleColumns(s_.valueDepth, sums, inverse);
    S *o = job.o + s_.o.at(job.b, h) + query * s_.o.row;
    storeTransposed(sums, width_, o, s_.o.row, count, s_.valueDepth);
  }

  static constexpr int64_t kBehindLine = 64;
  static constexpr int64_t kChains = 4; ///< of sums in AttentionRows::forward

  AttentionShape s_;
  int threads_;
  GemmTile<E> tile_;
  AttentionRows<T> rows_;
  int64_t width_, keyBlock_, keyStep_, keyPart_, queryPanels_, splits_;
  int64_t depth_, valueKeys_; ///< steps of k in panels of K and Q, and of V
  Scratch scratch_;
  size_t keysAt_, valuesAt_, queryAt_, scoresAt_, weightsAt_, outAt_, statsAt_, lineAt_, documentsAt_;
};

std::unique_ptr<LibraryKernel> makeAttention(const LibraryCall &call, int threads) {
  bool packed = boolAttr(call, "packed", false);
  expectCounts(call, packed ? 1 : 3, packed ? 8 : 10, 2, 2);
  AttentionShape shape = readAttention(call, 0, call.outputs[0], packed ? 1 : 3);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectShape(call, call.outputs[1], {shape.batch, shape.queryHeads, shape.queries}, "LSE");
  return dispatchFloat(
      call, call.inputs[0].type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
        DType expected = sizeof(S) == 8 ? DType::F64 : DType::F32;
        if (call.outputs[1].type != expected)
          failCall(call, "LSE is {}, expected {}", dtypeName(call.outputs[1].type), dtypeName(expected));
        return forPanels<AttentionForward, S>(shape, threads);
      });
}

} // namespace

KEDGE_REGISTER(Attention) { registerKernel("train.attention", makeAttention); }

} // namespace kedge::rt::cpu
