#include "lib/Solver/Remat/RematStarts.h"
#include "lib/Solver/Remat/ProgramPoint.h"
#include "lib/Solver/Remat/RematDemand.h"
#include <algorithm>

namespace kedge::solver {
namespace {

class SegmentStart {
public:
  SegmentStart(const RematModel &model, int segments, int patience)
      : model(model), length(std::max(1, static_cast<int>(model.problem.order.size()) / segments)),
        patience(patience * length), made(model.valueCount, -1), kept(model.valueCount) {
    findKept();
  }

  std::vector<int> build() const { return runOnDemand(model, kept, patience); }

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
    std::vector<int> borders;
    for (int target = length; target < steps; target += length) {
      int border = target;
      for (int step = std::max(0, target - length / 3); step < std::min(steps, target + length / 3 + 1);
           ++step)
        if (crossing[step] < crossing[border])
          border = step;
      borders.push_back(border);
    }
    for (int value = 0; value < model.valueCount; ++value)
      for (int reader : model.readers[value])
        kept[value] |= crosses(borders, made[value], model.orderPosition[reader]);
  }

  /// Whether a value made at one step and read at another is of a segment and read in the next one.
  bool crosses(const std::vector<int> &borders, int from, int to) const {
    for (auto border = std::lower_bound(borders.begin(), borders.end(), from);
         border != borders.end() && *border < std::min(to, from + length); ++border)
      if (to <= *border + length)
        return true;
    return false;
  }

  const RematModel &model;
  int length, patience;
  std::vector<int> made;
  std::vector<char> kept;
};

} // namespace

namespace {

/// What is best held at the fullest step of the order when a byte has a price, for falling prices; and what
/// comes later.
std::vector<std::vector<char>> keptAtMoment(const RematModel &model, int step) {
  const RematProblem &problem = model.problem;
  std::vector<ProgramPoint::When> when(model.nodeCount, ProgramPoint::When::unknown);
  for (size_t i = 0; i < problem.order.size(); ++i)
    when[problem.order[i]] =
        static_cast<int>(i) < step ? ProgramPoint::When::before : ProgramPoint::When::after;
  ProgramPoint moment(model, problem.order[step], when);
  double bytes = 1;
  for (const RematValue &value : problem.values)
    bytes += static_cast<double>(value.bytes);
  double price = 256 * std::max(model.requiredCost, 1e-300) / bytes;
  std::vector<ProgramPoint::Choice> open(moment.items(), ProgramPoint::Choice::open);
  std::vector<char> madeLater(model.valueCount);
  for (size_t i = step + 1; i < problem.order.size(); ++i)
    for (int value : problem.nodes[problem.order[i]].outputs)
      madeLater[value] = true;
  std::vector<std::vector<char>> result;
  std::vector<char> last;
  static constexpr int prices = 48;
  for (int i = 0; i < prices; ++i, price *= 0.75) {
    std::optional<ProgramPoint::Solution> solution = moment.solve(ProgramPoint::Runs::paid, price, open);
    if (!solution || solution->held == last)
      continue;
    last = solution->held;
    result.push_back(madeLater);
    for (int item = 0; item < moment.items(); ++item)
      result.back()[moment.value(item)] = solution->held[item];
  }
  return result;
}

} // namespace

namespace {

/// Prices fall in steps where layers are alike: all of them change at once. Between two steps the values made
/// late follow one and those made early the other. The late ones are read first when gradients run, and what
/// is held for them leaves room for making the others again.
std::vector<std::vector<char>> between(const RematModel &model, const std::vector<char> &fewer,
                                       const std::vector<char> &more, int64_t grain) {
  std::vector<int> changing;
  int64_t bytes = 0;
  for (int node : model.problem.order)
    for (int value : model.problem.nodes[node].outputs)
      if (more[value] != fewer[value]) {
        changing.push_back(value);
        bytes += model.problem.values[value].bytes;
      }
  int64_t parts = std::min<int64_t>(bytes / std::max<int64_t>(grain, 1), 24), done = 0;
  std::vector<std::vector<char>> result;
  std::vector<char> kept = fewer;
  for (size_t i = changing.size(); i-- > 0;) {
    int value = changing[i];
    kept[value] = more[value];
    int64_t before = done;
    done += model.problem.values[value].bytes;
    if (parts > 1 && done * parts / bytes > before * parts / bytes)
      result.push_back(kept);
  }
  return result;
}

} // namespace

std::vector<std::vector<int>> momentStarts(const RematModel &model) {
  std::vector<std::vector<int>> result;
  std::vector<int64_t> bytes = bytesPerStep(model.problem, model.problem.order);
  int steps = static_cast<int>(bytes.size());
  auto most = std::max_element(bytes.begin(), bytes.end());
  auto add = [&](const std::vector<char> &kept) {
    for (int patience : {2 + steps / 96, 4 + steps / 32}) {
      std::vector<int> sequence = runOnDemand(model, kept, patience, static_cast<int>(most - bytes.begin()));
      // Chains of values that are all made again from far away lead a search nowhere.
      if (!sequence.empty() && sequence.size() < 2 * model.problem.order.size())
        result.push_back(std::move(sequence));
    }
  };
  std::vector<char> last;
  for (const std::vector<char> &kept : keptAtMoment(model, static_cast<int>(most - bytes.begin()))) {
    if (!last.empty())
      for (const std::vector<char> &mixed : between(model, last, kept, *most / 80))
        add(mixed);
    add(kept);
    last = kept;
  }
  return result;
}

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
