#include "runtime/data/LengthOrder.h"
#include "runtime/data/Shuffle.h"
#include <algorithm>

namespace kedge::rt {
namespace {

constexpr int64_t kBatchesOfWindow = 64;

} // namespace

LengthOrder::LengthOrder(const RowLengths &lengths, const Form &form)
    : lengths(lengths), form(form), groups(form.rows / form.together),
      batch(std::max<int64_t>(1, form.batch / form.together)), window(batch * kBatchesOfWindow) {
  entries.reserve(static_cast<size_t>(window));
  order.reserve(static_cast<size_t>(window));
  batches.reserve(static_cast<size_t>(kBatchesOfWindow + 1));
}

int64_t LengthOrder::at(int64_t index) const {
  const int64_t group = index / form.together;
  if (const int64_t in = group / window, epoch = group / groups; in != windowAt || epoch != epochAt)
    enter(in, epoch);
  return order[static_cast<size_t>(group - beginAt)] * form.together + index % form.together;
}

/// The positions of a window that lie in an epoch.
void LengthOrder::enter(int64_t in, int64_t epoch) const {
  const int64_t begin = std::max(in * window, epoch * groups),
                end = std::min((in + 1) * window, (epoch + 1) * groups);
  sortRows(begin, end, epoch);
  shuffleBatches(begin, end, in);
  order.resize(static_cast<size_t>(end - begin));
  size_t next = 0;
  for (const Batch &each : batches)
    for (int64_t position = each.begin; position < each.end; ++position)
      order[static_cast<size_t>(position - begin)] = entries[next++].row;
  windowAt = in, epochAt = epoch, beginAt = begin;
}

void LengthOrder::sortRows(int64_t begin, int64_t end, int64_t epoch) const {
  entries.clear();
  for (int64_t position = begin; position < end; ++position) {
    const int64_t row = permuted(position - epoch * groups, groups, form.seed, static_cast<uint64_t>(epoch));
    int64_t places = 0;
    for (int64_t i = 0; i < form.together; ++i)
      places = std::max(places, lengths.of(row * form.together + i).places);
    entries.push_back({places, position, row});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.places != b.places ? a.places < b.places : a.rank < b.rank;
  });
}

/// Which batch of the window's positions gets the shortest rows, which the next.
void LengthOrder::shuffleBatches(int64_t begin, int64_t end, int64_t in) const {
  std::vector<Batch> &list = batches;
  list.clear();
  for (int64_t position = begin; position < end;) {
    const int64_t next = std::min((position / batch + 1) * batch, end);
    list.push_back({position, next});
    position = next;
  }
  const auto count = static_cast<int64_t>(list.size());
  for (int64_t at = count - 1; at > 0; --at) { // Fisher and Yates, by the numbers of Philox
    const PhiloxBlock random =
        philox4x32({static_cast<uint32_t>(in), static_cast<uint32_t>(in >> 32), static_cast<uint32_t>(at),
                    static_cast<uint32_t>(begin)},
                   static_cast<uint32_t>(form.seed), static_cast<uint32_t>(form.seed >> 32) ^ 0x626b7473u);
    std::swap(list[static_cast<size_t>(at)], list[random[0] % static_cast<uint64_t>(at + 1)]);
  }
}

} // namespace kedge::rt
