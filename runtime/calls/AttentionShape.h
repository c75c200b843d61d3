// Reads the shapes and attributes of train.attention and train.attention_grad. The rules are in
// docs/library-kernels.md.
#pragma once
#include "runtime/calls/Call.h"
#include "runtime/calls/DropoutRow.h"
#include <algorithm>

namespace kedge::rt::calls {

/// Place of element (b, h, t, d) of an operand: offset + b * batch + h * head + t * row + d.
struct HeadView {
  int64_t offset = 0, batch = 0, head = 0, row = 0;

  int64_t at(int64_t b, int64_t h) const { return offset + b * batch + h * head; }
};

struct AttentionMask {
  int index = -1; ///< position among the inputs; -1: no mask
  DType type = DType::Bool;
  int64_t batch = 0, head = 0, query = 0, key = 0; ///< strides; 0 where it is broadcast
};

/// Dropout of the attention weights. Sample b of the batch is row row_base + b / rowSize of the step.
struct AttentionDropout {
  int firstInput = -1; ///< position of seed among the inputs, followed by step and row_base; -1: no dropout
  uint32_t opId = 0;
  uint32_t smallest = 0; ///< see DropoutRow
  int64_t rowSize = 1;
  double kept = 1; ///< factor for values that are kept
};

struct AttentionShape {
  /// A bound that hides nothing.
  static constexpr int64_t kAll = int64_t(1) << 40;

  int64_t batch, queryHeads, keyHeads, queries, keys, depth, valueDepth;
  double scale, softcap;
  int64_t left = kAll, right = kAll; ///< query i sees key j when i - left <= j <= i + right
  HeadView q, k, v, o;
  AttentionMask mask;
  AttentionDropout dropout;
  int places = -1;    ///< position of the places of queries among the inputs; -1: query i is at place i
  int64_t runs = 1;   ///< of queries in a row, each with its place
  int documents = -1; ///< position of the borders among the inputs; -1: a row is one document
  int sinks = -1;     ///< position of the sinks among the inputs; -1: none
  DType sinkType = DType::F32;
  bool packed;

  bool hidesBefore() const { return left < (places < 0 ? queries : keys) - 1; }
  bool hidesBehind() const { return right < keys - 1; }
  bool drops() const { return dropout.firstInput >= 0; }
  /// Parameters of the random numbers of sample b, read from the call's inputs.
  DropoutRow dropoutRow(const void *const *inputs, int64_t b) const;
  /// Index, within the row, of the element for sample b, head h, query i, key j.
  uint64_t dropoutElement(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return static_cast<uint64_t>((((b % dropout.rowSize) * queryHeads + h) * queries + i) * keys + j);
  }

  int64_t group() const { return keyHeads == 0 ? 0 : queryHeads / keyHeads; }
  /// A query at place i sees the keys [firstKey(i), endKey(i)), of which there may be none.
  int64_t firstKey(int64_t i) const { return std::clamp<int64_t>(i - left, 0, keys); }
  int64_t endKey(int64_t i) const { return std::clamp<int64_t>(i + right + 1, 0, keys); }
  /// The queries [firstQuery(j), endQuery(j)) see key j.
  int64_t firstQuery(int64_t j) const { return std::clamp<int64_t>(j - right, 0, queries); }
  int64_t endQuery(int64_t j) const { return std::clamp<int64_t>(j + left + 1, 0, queries); }
  /// Pairs of query and key over batch and heads that `left` and `right` do not hide. Masks and documents,
  /// which are data, are not taken into account.
  double visiblePairs() const {
    double pairs = 0;
    for (int64_t i = 0; i < queries; ++i)
      pairs += static_cast<double>(std::max<int64_t>(0, endKey(likelyPlace(i)) - firstKey(likelyPlace(i))));
    return pairs * static_cast<double>(batch * queryHeads);
  }
  /// Places are data. The last queries of all see most: what ranks wait for; with two runs, the first and the
  /// last keys, as a rank's share is then.
  int64_t likelyPlace(int64_t query) const {
    const int64_t run = queries / runs;
    return places < 0 ? query : query / run + 1 == runs ? query % run + keys - run : query;
  }
  /// For each pair, `depthProducts` products have length depth and `valueProducts` have length valueDepth.
  CallWork work(int depthProducts, int valueProducts) const {
    double width = static_cast<double>(depthProducts * depth + valueProducts * valueDepth);
    double rows = static_cast<double>(std::max<int64_t>(1, batch * queryHeads * queries));
    // Special functions: one exponential for each pair and, as in generated kernels, ten rounds of Philox.
    return {CallWork::Kind::Attention, 2 * visiblePairs() * width, visiblePairs() * (drops() ? 6 : 1), {}, {},
            visiblePairs() / rows};
  }
};

/// `o`: type of O, an output of the forward call and an input of the backward
/// call. `first`: position of the input Q (or QKV). `maskOperand`: number of
/// the optional mask operand; seed, step and row_base of a dropout follow it, then documents, places and
/// sinks.
AttentionShape readAttention(const LibraryCall &call, size_t first, const TensorDesc &o, size_t maskOperand);

/// Scratch memory of one thread, handed out in aligned pieces.
class Scratch {
public:
  template <typename T> size_t add(int64_t count) {
    size_t place = bytes_;
    bytes_ += (sizeof(T) * count + 63) / 64 * 64;
    return place;
  }
  size_t bytes() const { return bytes_; }

private:
  size_t bytes_ = 0;
};

} // namespace kedge::rt::calls
