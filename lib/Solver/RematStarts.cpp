#include "RematStarts.h"
#include <algorithm>

namespace kedge::solver {
namespace {

class SegmentStart {
public:
  SegmentStart(const RematModel &model, int segments, int patience)
      : model(model), length(std::max(1, static_cast<int>(model.problem.order.size()) / segments)),
        patience(patience * length), made(model.valueCount, -1), kept(model.valueCount),
        touched(model.valueCount, -1) {
    findKept();
  }

  /// Empty where the order in which values are made again does not end.
  std::vector<int> build() {
    for (now = 0; now < static_cast<int>(model.problem.order.size()); ++now) {
      run(model.problem.order[now], 0);
      if (sequence.size() > 20 * model.problem.order.size())
        return {};
    }
    return sequence;
  }

private:
  /// Bytes that steps soon after a position read from before it.
  std::vector<int64_t> borderBytes() const {
    int steps = static_cast<int>(model.problem.order.size());
    std::vector<int64_t> change(steps + 1);
    for (int value = 0; value < model.valueCount; ++value) {
      int end = -1;
      for (int reader : model.readers[value]) {
        int position = model.orderPosition[reader];
        if (made[value] >= 0 && position >= 0 && position <= made[value] + length)
          end = std::max(end, position);
      }
      if (end < 0)
        continue;
      change[made[value]] += model.problem.values[value].bytes;
      change[end] -= model.problem.values[value].bytes;
    }
    for (int step = 1; step < steps; ++step)
      change[step] += change[step - 1];
    return change;
  }

  void findKept() {
    int steps = static_cast<int>(model.problem.order.size());
    for (int step = 0; step < steps; ++step)
      for (int value : model.problem.nodes[model.problem.order[step]].outputs)
        made[value] = step;
    std::vector<int64_t> crossing = borderBytes();
    for (int target = length; target < steps; target += length) {
      int border = target;
      for (int step = std::max(0, target - length / 3); step < std::min(steps, target + length / 3 + 1);
           ++step)
        if (crossing[step] < crossing[border])
          border = step;
      for (int value = 0; value < model.valueCount; ++value)
        for (int reader : model.readers[value]) {
          int position = model.orderPosition[reader];
          kept[value] |= made[value] <= border && position > border && position <= border + length &&
                         made[value] > border - length;
        }
    }
  }

  bool there(int value) const {
    if (model.problem.values[value].given)
      return true;
    return touched[value] >= 0 && (kept[value] || now - touched[value] <= patience);
  }

  void run(int node, int depth) {
    for (int value : model.problem.nodes[node].inputs) {
      if (!there(value) && !model.producers[value].empty() && depth < 20000) {
        int maker = model.producers[value].front();
        if (model.problem.nodes[maker].repeatable)
          run(maker, depth + 1);
      }
      touched[value] = now;
    }
    for (int value : model.problem.nodes[node].outputs)
      touched[value] = now;
    sequence.push_back(node);
  }

  const RematModel &model;
  int length, patience, now = 0;
  std::vector<int> made;
  std::vector<char> kept;
  std::vector<int> touched, sequence;
};

} // namespace

std::vector<std::vector<int>> segmentStarts(const RematModel &model) {
  std::vector<std::vector<int>> result;
  int steps = static_cast<int>(model.problem.order.size());
  for (int segments = 3; segments < steps / 2; segments += 1 + segments / 4)
    for (int patience : {1, 2, 4}) {
      std::vector<int> sequence = SegmentStart(model, segments, patience).build();
      if (!sequence.empty())
        result.push_back(std::move(sequence));
    }
  return result;
}

} // namespace kedge::solver
