#include "lib/Solver/Remat/RematChain.h"
#include <algorithm>

namespace kedge::solver {
namespace {

bool isPlain(const RematNode &node) {
  return node.required && node.repeatable && node.outputs.size() == 1 && node.reuses.empty() &&
         node.overwrites.empty();
}

/// Whether each node reads what the one before it makes, so that no other order of first runs exists.
bool ordered(const RematProblem &problem) {
  for (size_t i = 1; i < problem.order.size(); ++i) {
    const std::vector<int> &inputs = problem.nodes[problem.order[i]].inputs;
    int before = problem.nodes[problem.order[i - 1]].outputs.front();
    if (std::find(inputs.begin(), inputs.end(), before) == inputs.end())
      return false;
  }
  return true;
}

bool eligible(const RematModel &model) {
  const RematProblem &problem = model.problem;
  return model.nodeCount <= RematValueSet::capacity && model.valueCount == model.nodeCount &&
         std::all_of(problem.nodes.begin(), problem.nodes.end(), isPlain) &&
         std::none_of(problem.values.begin(), problem.values.end(),
                      [](const RematValue &value) { return value.given || value.keptToEnd; }) &&
         (!model.freeOrder || ordered(problem));
}

} // namespace

std::optional<RematChain> RematChain::of(const RematModel &model) {
  if (!eligible(model))
    return std::nullopt;
  RematChain chain;
  chain.size = model.nodeCount;
  chain.grid = costGrid(model.problem);
  chain.readers.resize(chain.size);
  chain.inputSet.resize(chain.size);
  std::vector<int> numberOf(chain.size);
  double allBytes = 1;
  for (int node : model.problem.order) {
    const RematNode &n = model.problem.nodes[node];
    int number = static_cast<int>(chain.cost.size());
    numberOf[n.outputs.front()] = number;
    chain.cost.push_back(n.cost);
    chain.workspace.push_back(n.workspace);
    chain.bytes.push_back(model.problem.values[n.outputs.front()].bytes);
    allBytes += static_cast<double>(chain.bytes.back());
    chain.inputs.emplace_back();
    for (int value : n.inputs) {
      chain.inputs.back().push_back(numberOf[value]);
      chain.readers[numberOf[value]].push_back(number);
      chain.inputSet[number].add(numberOf[value]);
    }
  }
  chain.costPerByte = std::max(model.requiredCost, 1e-300) / allBytes;
  return chain;
}

int64_t RematChain::bytesOfRun(int node) const {
  int64_t result = bytes[node] + workspace[node];
  for (int value : inputs[node])
    result += bytes[value];
  return result;
}

} // namespace kedge::solver
