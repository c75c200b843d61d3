// Which keys the queries of one sample see, by their places and by the borders of documents: a range for each
// query, and of queries for each key. Both ends of a range rise, so what a block of queries and keys has to
// do with each other follows from its corners.
#pragma once
#include "runtime/calls/AttentionShape.h"
#include <limits>

namespace kedge::rt::cpu {
using namespace calls;

class Sight {
public:
  /// Of a sample of a call with these inputs; `table` has room for tableSize() numbers.
  Sight(const AttentionShape &shape, const void *const *inputs, int64_t sample, int32_t *table)
      : s_(&shape), places_(shape.places < 0 ? nullptr : static_cast<const int64_t *>(inputs[shape.places])) {
    const int64_t *borders = bordersOf(shape, inputs, sample);
    if (!borders)
      return;
    begins_ = table, ends_ = table + shape.queries;
    int64_t begin = 0;
    for (int64_t k = 0; k <= shape.queries + 1; ++k) {
      // Numbers that do not rise, or leave the row, cut nothing off.
      const int64_t end =
          k <= shape.queries ? std::clamp<int64_t>(borders[k], begin, shape.queries) : shape.queries;
      std::fill(table + begin, table + end, static_cast<int32_t>(begin));
      std::fill(table + shape.queries + begin, table + shape.queries + end, static_cast<int32_t>(end));
      begin = end;
    }
  }
  static int64_t tableSize(const AttentionShape &shape) {
    return shape.documents < 0 ? 0 : 2 * shape.queries;
  }

  int64_t firstKey(int64_t query) const {
    return std::max<int64_t>(s_->firstKey(placeOf(query)), begins_ ? begins_[query] : 0);
  }
  int64_t endKey(int64_t query) const {
    return std::min<int64_t>(s_->endKey(placeOf(query)), ends_ ? ends_[query] : s_->keys);
  }
  int64_t firstQuery(int64_t key) const {
    if (places_)
      return firstFrom(key - s_->right);
    return std::max<int64_t>(s_->firstQuery(key), begins_ ? begins_[key] : 0);
  }
  int64_t endQuery(int64_t key) const {
    if (places_)
      return firstFrom(key + s_->left + 1);
    return std::min<int64_t>(s_->endQuery(key), ends_ ? ends_[key] : s_->queries);
  }
  /// Whether each of the queries sees all of the keys, which are some.
  bool isWhole(int64_t query, int64_t queries, int64_t key, int64_t keys) const {
    return firstKey(query + queries - 1) <= key && endKey(query) >= key + keys;
  }

private:
  static const int64_t *bordersOf(const AttentionShape &shape, const void *const *inputs, int64_t sample) {
    return shape.documents < 0
               ? nullptr
               : static_cast<const int64_t *>(inputs[shape.documents]) + sample * (shape.queries + 1);
  }

  int64_t placeOf(int64_t query) const {
    const int64_t run = s_->queries / s_->runs;
    return places_ ? places_[query / run] + query % run : query;
  }
  /// The first query at a place that is not before `place`; places rise.
  int64_t firstFrom(int64_t place) const {
    const int64_t run = s_->queries / s_->runs;
    for (int64_t k = 0; k < s_->runs; ++k)
      if (places_[k] + run > place)
        return k * run + std::max<int64_t>(0, place - places_[k]);
    return s_->queries;
  }

  const AttentionShape *s_;
  const int64_t *places_;                             ///< of the runs of queries; null: query i is at place i
  const int32_t *begins_ = nullptr, *ends_ = nullptr; ///< of each place's document
};

/// Sets the scores of a row outside of `begin` to `end` to -inf.
template <typename T> void hideOutside(T *row, int64_t width, int64_t begin, int64_t end) {
  begin = std::clamp<int64_t>(begin, 0, width);
  end = std::clamp<int64_t>(end, begin, width);
  std::fill(row, row + begin, -std::numeric_limits<T>::infinity());
  std::fill(row + end, row + width, -std::numeric_limits<T>::infinity());
}

/// Sets scores that are hidden to -inf. Rows are keys from `key` on and columns are queries from `query` on.
template <typename T>
void hideInRows(const Sight &sight, T *tile, int64_t width, int64_t rows, int64_t key, int64_t query) {
  for (int64_t r = 0; r < rows; ++r)
    hideOutside(tile + r * width, width, sight.firstQuery(key + r) - query, sight.endQuery(key + r) - query);
}
/// The same where rows are queries and columns are keys.
template <typename T>
void hideInColumns(const Sight &sight, T *tile, int64_t width, int64_t rows, int64_t query, int64_t key) {
  for (int64_t r = 0; r < rows; ++r)
    hideOutside(tile + r * width, width, sight.firstKey(query + r) - key, sight.endKey(query + r) - key);
}

} // namespace kedge::rt::cpu
