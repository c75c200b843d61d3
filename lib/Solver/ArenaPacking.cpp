#include "kedge/Solver/ArenaPacking.h"
#include <algorithm>
#include <functional>
#include <numeric>

namespace kedge::solver {
namespace {

int64_t roundUp(int64_t size, int64_t align) { return (size + align - 1) / align * align; }

/// First fit of buffers taken in `order`: each goes to the lowest gap between those placed that live with it.
class FirstFit {
public:
  FirstFit(const std::vector<Buffer> &buffers, int64_t align) : buffers(buffers), align(align) {}

  Packing place(const std::vector<size_t> &order) {
    Packing result;
    result.offsets.assign(buffers.size(), 0);
    std::vector<size_t> byOffset;
    for (size_t index : order) {
      int64_t size = roundUp(buffers[index].size, align);
      if (size == 0)
        continue;
      int64_t at = lowestGap(buffers[index], size, byOffset, result.offsets);
      result.offsets[index] = at;
      auto place = std::upper_bound(byOffset.begin(), byOffset.end(), at,
                                    [&](int64_t value, size_t other) { return value < result.offsets[other]; });
      byOffset.insert(place, index);
      result.height = std::max(result.height, at + size);
    }
    return result;
  }

private:
  int64_t lowestGap(const Buffer &buffer, int64_t size, const std::vector<size_t> &byOffset,
                    const std::vector<int64_t> &offsets) const {
    int64_t at = 0;
    for (size_t other : byOffset) {
      const Buffer &placed = buffers[other];
      if (placed.upper <= buffer.lower || buffer.upper <= placed.lower)
        continue;
      if (offsets[other] >= at + size)
        break;
      at = std::max(at, offsets[other] + roundUp(placed.size, align));
    }
    return at;
  }

  const std::vector<Buffer> &buffers;
  int64_t align;
};

using Order = std::function<bool(const Buffer &, const Buffer &)>;

std::vector<Order> orders() {
  auto length = [](const Buffer &b) { return b.upper - b.lower; };
  auto area = [=](const Buffer &b) { return static_cast<double>(b.size) * static_cast<double>(length(b)); };
  return {
      [](const Buffer &a, const Buffer &b) { return a.size > b.size; },
      [=](const Buffer &a, const Buffer &b) { return area(a) > area(b); },
      [=](const Buffer &a, const Buffer &b) { return length(a) > length(b); },
      [](const Buffer &a, const Buffer &b) { return a.lower < b.lower; },
      [](const Buffer &a, const Buffer &b) { return a.upper > b.upper; },
  };
}

} // namespace

int64_t maxLoad(const std::vector<Buffer> &buffers, int64_t align) {
  std::vector<std::pair<int64_t, int64_t>> events;
  for (const Buffer &buffer : buffers)
    if (buffer.upper > buffer.lower && buffer.size > 0) {
      events.push_back({buffer.lower, roundUp(buffer.size, align)});
      events.push_back({buffer.upper, -roundUp(buffer.size, align)});
    }
  std::sort(events.begin(), events.end());
  int64_t load = 0, most = 0;
  for (auto [step, bytes] : events)
    most = std::max(most, load += bytes);
  return most;
}

Packing packArena(const std::vector<Buffer> &buffers, int64_t align) {
  Packing best;
  best.height = -1;
  FirstFit fit(buffers, align);
  int64_t load = maxLoad(buffers, align);
  for (const Order &less : orders()) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(buffers[a], buffers[b]); });
    Packing candidate = fit.place(order);
    if (best.height < 0 || candidate.height < best.height)
      best = std::move(candidate);
    if (best.height == load)
      break;
  }
  best.height = std::max<int64_t>(best.height, 0);
  best.load = load;
  return best;
}

} // namespace kedge::solver
