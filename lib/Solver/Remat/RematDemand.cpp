#include "lib/Solver/Remat/RematDemand.h"
#include <algorithm>
#include <limits>

namespace kedge::solver {
namespace {

class Demand {
public:
  Demand(const RematModel &model, const std::vector<char> &kept, int patience, int from)
      : model(model), kept(kept), patience(patience), from(from), touched(model.valueCount, -1) {}

  std::vector<int> build() {
    for (now = 0; now < static_cast<int>(model.problem.order.size()); ++now) {
      run(model.problem.order[now], 0);
      if (sequence.size() > 20 * model.problem.order.size())
        return {};
    }
    return postponeOverwrites(model, sequence);
  }

private:
  bool there(int value) const {
    if (model.problem.values[value].given)
      return true;
    return touched[value] >= 0 && (kept[value] || now <= from || now - touched[value] <= patience);
  }

  /// Of the producers that could run now; else the required one.
  int cheapest(int value) const {
    int best = model.producers[value].front();
    if (touched[value] < 0)
      return best;
    double cost = std::numeric_limits<double>::infinity();
    for (int producer : model.producers[value]) {
      const RematNode &n = model.problem.nodes[producer];
      bool ready =
          n.repeatable && std::all_of(n.inputs.begin(), n.inputs.end(), [&](int v) { return there(v); });
      if (ready && n.cost < cost) {
        best = producer;
        cost = n.cost;
      }
    }
    return best;
  }

  void run(int node, int depth) {
    for (int value : model.problem.nodes[node].inputs) {
      if (!there(value) && !model.producers[value].empty() && depth < 20000) {
        if (int producer = cheapest(value); model.problem.nodes[producer].repeatable)
          run(producer, depth + 1);
      }
      touched[value] = now;
    }
    for (int value : model.problem.nodes[node].outputs)
      touched[value] = now;
    sequence.push_back(node);
  }

  const RematModel &model;
  const std::vector<char> &kept;
  int patience, from, now = 0;
  std::vector<int> touched, sequence;
};

} // namespace

std::vector<int> postponeOverwrites(const RematModel &model, const std::vector<int> &sequence) {
  std::vector<int> last(model.nodeCount, -1);
  for (size_t step = 0; step < sequence.size(); ++step)
    last[sequence[step]] = static_cast<int>(step);
  std::vector<std::vector<int>> behind(sequence.size());
  std::vector<int> result;
  for (size_t step = 0; step < sequence.size(); ++step) {
    int until = static_cast<int>(step);
    for (int other : model.problem.nodes[sequence[step]].overwrites)
      until = std::max(until, last[other]);
    if (until > static_cast<int>(step))
      behind[until].push_back(sequence[step]);
    else
      result.push_back(sequence[step]);
    result.insert(result.end(), behind[step].begin(), behind[step].end());
  }
  return result;
}

std::vector<int> runOnDemand(const RematModel &model, const std::vector<char> &kept, int patience, int from) {
  return Demand(model, kept, patience, from).build();
}

} // namespace kedge::solver
