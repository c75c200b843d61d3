#include "lib/Solver/Shard/ShardTimes.h"
#include <algorithm>
#include <map>

namespace kedge::solver {
namespace {

/// What nodes use more, by strategy, than at an earlier time.
class Difference {
public:
  explicit Difference(const ShardModel &model) : model(model) {}

  void add(int node, const ShardSpan &span, int64_t sign) {
    std::vector<int64_t> &more = ofNode[node];
    more.resize(static_cast<size_t>(model.strategies(node)), 0);
    for (size_t strategy = 0; strategy < more.size(); ++strategy)
      more[strategy] += sign * model.amounts[span.amounts + strategy];
  }
  void clear() { ofNode.clear(); }

  /// What all nodes together use more at most, and less at most.
  int64_t most() const { return sum(1); }
  int64_t mostLess() const { return sum(-1); }

private:
  int64_t sum(int64_t sign) const {
    int64_t total = 0;
    for (const auto &[node, more] : ofNode) {
      int64_t most = sign * more[0];
      for (const int64_t each : more)
        most = std::max(most, sign * each);
      total += most;
    }
    return total;
  }

  const ShardModel &model;
  std::map<int, std::vector<int64_t>> ofNode;
};

class Times {
public:
  explicit Times(ShardModel &model) : model(model), changes(static_cast<size_t>(model.times) + 1) {
    for (int node = 0; node < model.nodes(); ++node)
      for (int span = model.spanFirst[static_cast<size_t>(node)];
           span < model.spanFirst[static_cast<size_t>(node) + 1]; ++span) {
        const ShardSpan &each = model.spans[static_cast<size_t>(span)];
        changes[static_cast<size_t>(each.begin)].push_back({node, span, 1});
        changes[static_cast<size_t>(each.end)].push_back({node, span, -1});
      }
  }

  void drop() {
    choose();
    renumber();
  }

private:
  struct Change {
    int node, span;
    int64_t sign;
  };

  /// Each time is compared with the last one that stays.
  void choose() {
    Difference since(model);
    for (int time = 0; time < model.times; ++time) {
      for (const Change &change : changes[static_cast<size_t>(time)])
        since.add(change.node, model.spans[static_cast<size_t>(change.span)], change.sign);
      if (!kept.empty()) {
        const int64_t more =
            model.room[static_cast<size_t>(time)] - model.room[static_cast<size_t>(kept.back())];
        if (since.most() <= more)
          continue;
        if (since.mostLess() <= -more)
          kept.pop_back();
      }
      kept.push_back(time);
      since.clear();
    }
  }

  void renumber() {
    std::vector<int> placeOf; // of a time, that of the first one from it on that stays
    std::vector<int64_t> room, moment;
    for (const int time : kept) {
      placeOf.resize(static_cast<size_t>(time) + 1, static_cast<int>(room.size()));
      room.push_back(model.room[static_cast<size_t>(time)]);
      moment.push_back(model.moment[static_cast<size_t>(time)]);
    }
    placeOf.resize(static_cast<size_t>(model.times) + 1, static_cast<int>(room.size()));
    model.times = static_cast<int>(room.size());
    model.room = std::move(room);
    model.moment = std::move(moment);
    for (ShardSpan &span : model.spans) {
      span.begin = placeOf[static_cast<size_t>(span.begin)];
      span.end = placeOf[static_cast<size_t>(span.end)];
    }
    gatherSpans();
  }

  void gatherSpans() {
    std::vector<ShardSpan> spans;
    std::vector<int64_t> amounts;
    std::vector<int> spanFirst{0};
    for (int node = 0; node < model.nodes(); ++node) {
      const auto count = static_cast<size_t>(model.strategies(node));
      std::map<std::pair<int, int>, std::vector<int64_t>> sums;
      for (int span = model.spanFirst[static_cast<size_t>(node)];
           span < model.spanFirst[static_cast<size_t>(node) + 1]; ++span) {
        const ShardSpan &each = model.spans[static_cast<size_t>(span)];
        if (each.begin == each.end)
          continue;
        std::vector<int64_t> &sum = sums[{each.begin, each.end}];
        sum.resize(count, 0);
        for (size_t strategy = 0; strategy < count; ++strategy)
          sum[strategy] += model.amounts[each.amounts + strategy];
      }
      for (const auto &[times, sum] : sums) {
        spans.push_back({times.first, times.second, amounts.size()});
        amounts.insert(amounts.end(), sum.begin(), sum.end());
      }
      spanFirst.push_back(static_cast<int>(spans.size()));
    }
    model.spans = std::move(spans);
    model.amounts = std::move(amounts);
    model.spanFirst = std::move(spanFirst);
  }

  ShardModel &model;
  std::vector<std::vector<Change>> changes; ///< by time
  std::vector<int> kept;
};

} // namespace

void dropImpliedTimes(ShardModel &model) { Times(model).drop(); }

} // namespace kedge::solver
