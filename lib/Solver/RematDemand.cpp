#include "RematDemand.h"

namespace kedge::solver {
namespace {

class Demand {
public:
  Demand(const RematModel &model, const std::vector<char> &kept, int patience)
      : model(model), kept(kept), patience(patience), touched(model.valueCount, -1) {}

  std::vector<int> build() {
    for (now = 0; now < static_cast<int>(model.problem.order.size()); ++now) {
      run(model.problem.order[now], 0);
      if (sequence.size() > 20 * model.problem.order.size())
        return {};
    }
    return std::move(sequence);
  }

private:
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
  const std::vector<char> &kept;
  int patience, now = 0;
  std::vector<int> touched, sequence;
};

} // namespace

std::vector<int> runOnDemand(const RematModel &model, const std::vector<char> &kept, int patience) {
  return Demand(model, kept, patience).build();
}

} // namespace kedge::solver
