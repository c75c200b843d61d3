#include "lib/Solver/Remat/RematPrecedence.h"
#include <algorithm>
#include <bit>

namespace kedge::solver {

RematPrecedence::RematPrecedence(const RematModel &model)
    : model(model), before(model.nodeCount, Row((model.nodeCount + 63) / 64)), after(before) {
  for (int node : model.problem.order)
    addAll(node);
  for (int node : model.problem.order)
    for (int other : model.problem.order)
      if (has(before[node], other))
        after[other][node / 64] |= uint64_t(1) << (node % 64);
}

/// The order is an execution, so all that comes before `node` is done already.
void RematPrecedence::addAll(int node) {
  auto add = [&](int other) {
    if (!model.problem.nodes[other].required)
      return;
    before[node][other / 64] |= uint64_t(1) << (other % 64);
    for (size_t word = 0; word < before[node].size(); ++word)
      before[node][word] |= before[other][word];
  };
  if (int position = model.orderPosition[node]; !model.freeOrder && position > 0)
    return add(model.problem.order[position - 1]);
  for (int value : model.problem.nodes[node].inputs)
    if (!model.problem.values[value].given && !model.producers[value].empty())
      add(model.producers[value].front());
  for (int other : model.problem.nodes[node].overwrites)
    add(other);
}

std::vector<ProgramPoint::When> RematPrecedence::around(int node) const {
  using When = ProgramPoint::When;
  std::vector<When> result(model.nodeCount, When::unknown);
  for (int other = 0; other < model.nodeCount; ++other)
    result[other] = has(before[node], other)  ? When::before
                    : has(after[node], other) ? When::after
                                              : When::unknown;
  return result;
}

std::vector<int64_t> RematPrecedence::heldAt() const {
  std::vector<int64_t> held(model.nodeCount);
  Row read((model.nodeCount + 63) / 64);
  for (int value = 0; value < model.valueCount; ++value) {
    const RematValue &v = model.problem.values[value];
    if (v.given || model.producers[value].empty() ||
        !model.problem.nodes[model.producers[value].front()].required)
      continue;
    std::fill(read.begin(), read.end(), 0);
    for (int reader : model.readers[value]) {
      if (!model.problem.nodes[reader].required)
        continue;
      read[reader / 64] |= uint64_t(1) << (reader % 64);
      for (size_t word = 0; word < read.size(); ++word)
        read[word] |= before[reader][word];
    }
    for (size_t word = 0; word < read.size(); ++word)
      for (uint64_t bits = read[word] & after[model.producers[value].front()][word]; bits; bits &= bits - 1)
        held[64 * word + std::countr_zero(bits)] += v.bytes;
  }
  for (int node : model.problem.order) {
    held[node] += model.problem.nodes[node].workspace;
    for (int value : model.problem.nodes[node].outputs)
      held[node] += model.problem.values[value].bytes;
  }
  return held;
}

} // namespace kedge::solver
