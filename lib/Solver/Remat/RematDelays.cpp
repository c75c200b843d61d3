#include "lib/Solver/Remat/RematDelays.h"
#include "lib/Solver/Remat/RematDemand.h"
#include <algorithm>

namespace kedge::solver {
namespace {

/// More nodes than that behind a gradient: it is no gradient of weights alone.
constexpr size_t mostDependents = 8;

class Delays {
public:
  explicit Delays(const RematModel &model) : model(model) {}

  std::vector<std::vector<int>> orders(size_t most) {
    std::vector<std::pair<int64_t, int>> byBytes;
    for (int node : model.problem.order)
      byBytes.push_back({bytesRead(node), node});
    std::stable_sort(byBytes.begin(), byBytes.end(), [](auto a, auto b) { return a.first > b.first; });
    std::vector<std::vector<int>> result;
    for (auto [bytes, node] : byBytes) {
      if (result.size() == most || bytes == 0)
        break;
      if (!findDependents(node))
        continue;
      std::vector<int> order = delayed(node);
      if (peakOf(model.problem, order) >= 0)
        result.push_back(std::move(order));
    }
    return result;
  }

private:
  int64_t bytesRead(int node) const {
    int64_t bytes = 0;
    for (int value : model.steps[node].inputs)
      if (!model.problem.values[value].given)
        bytes += model.bytes[value];
    return bytes;
  }

  /// False where there are none, or many.
  bool findDependents(int node) {
    depends.assign(model.nodeCount, false);
    std::vector<int> found{node};
    for (size_t i = 0; i < found.size(); ++i) { // grows on the way
      auto add = [&](int other) {
        if (model.orderPosition[other] < 0 || depends[other])
          return;
        depends[other] = true;
        found.push_back(other);
      };
      for (int value : model.steps[found[i]].outputs)
        for (int reader : model.readers[value])
          add(reader);
      for (int other : model.overwrittenBy[found[i]])
        add(other);
      if (found.size() > mostDependents + 1)
        return false;
    }
    return found.size() > 1;
  }

  std::vector<int> delayed(int node) const {
    std::vector<int> order, late;
    for (int other : model.problem.order) {
      if (other == node)
        for (int value : model.steps[node].inputs)
          if (int producer = producerAgain(value); producer >= 0)
            late.push_back(producer);
      (other == node || depends[other] ? late : order).push_back(other);
    }
    order.insert(order.end(), late.begin(), late.end());
    return postponeOverwrites(model, order);
  }

  /// The node that makes a value again from no more bytes than it has; -1 where there is none.
  int producerAgain(int value) const {
    if (model.problem.values[value].given)
      return -1;
    for (size_t i = model.producers[value].size(); i-- > 0;) {
      int producer = model.producers[value][i];
      if (model.steps[producer].repeatable && bytesRead(producer) <= model.bytes[value])
        return producer;
    }
    return -1;
  }

  const RematModel &model;
  std::vector<char> depends; ///< on the node that is moved
};

} // namespace

std::vector<std::vector<int>> delayedStarts(const RematModel &model, size_t most) {
  return Delays(model).orders(most);
}

} // namespace kedge::solver
