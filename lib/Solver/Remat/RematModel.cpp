#include "lib/Solver/Remat/RematModel.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

namespace kedge::solver {
namespace {

void checkIndices(const std::vector<int> &indices, int count, const std::string &what) {
  std::vector<int> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] < 0 || sorted[i] >= count)
      throw std::invalid_argument("rematerialization: " + what + ": index " + std::to_string(sorted[i]) +
                                  " is not below " + std::to_string(count));
    if (i && sorted[i] == sorted[i - 1])
      throw std::invalid_argument("rematerialization: " + what + ": index " + std::to_string(sorted[i]) +
                                  " is there twice");
  }
}

void checkNode(const RematProblem &problem, int node) {
  const RematNode &n = problem.nodes[node];
  std::string name = "node " + std::to_string(node);
  checkIndices(n.inputs, static_cast<int>(problem.values.size()), name + ", inputs");
  checkIndices(n.outputs, static_cast<int>(problem.values.size()), name + ", outputs");
  checkIndices(n.overwrites, static_cast<int>(problem.nodes.size()), name + ", overwrites");
  for (int value : n.inputs)
    if (std::find(n.outputs.begin(), n.outputs.end(), value) != n.outputs.end())
      throw std::invalid_argument("rematerialization: " + name + " reads the value that it makes");
  for (RematNode::Reuse reuse : n.reuses)
    if (reuse.output < 0 || reuse.output >= static_cast<int>(n.outputs.size()) || reuse.input < 0 ||
        reuse.input >= static_cast<int>(n.inputs.size()))
      throw std::invalid_argument("rematerialization: " + name + ": a reuse names no output or no input");
  if (!(n.cost >= 0) || n.workspace < 0)
    throw std::invalid_argument("rematerialization: " + name + ": cost and workspace must not be negative");
}

} // namespace

uint64_t RematRandom::next() {
  uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

double costGrid(const RematProblem &problem) {
  int64_t grid = 0;
  for (const RematNode &node : problem.nodes) {
    if (node.cost > 1e12 || node.cost != std::floor(node.cost))
      return 0;
    grid = std::gcd(grid, static_cast<int64_t>(node.cost));
  }
  return static_cast<double>(grid);
}

RematModel::RematModel(const RematProblem &problem, bool freeOrder)
    : problem(problem), freeOrder(freeOrder), nodeCount(static_cast<int>(problem.nodes.size())),
      valueCount(static_cast<int>(problem.values.size())), producers(valueCount), readers(valueCount),
      orderPosition(nodeCount, -1), runAfter(nodeCount), optionalAfter(nodeCount), overwrittenBy(nodeCount) {
  for (int node = 0; node < nodeCount; ++node) {
    checkNode(problem, node);
    const RematNode &n = problem.nodes[node];
    if (n.required)
      requiredCost += n.cost;
    for (int value : n.outputs)
      n.required ? void(producers[value].insert(producers[value].begin(), node))
                 : producers[value].push_back(node);
    for (int value : n.inputs)
      readers[value].push_back(node);
    for (int other : n.overwrites)
      overwrittenBy[other].push_back(node);
  }
  for (const std::vector<int> &ofValue : producers)
    for (size_t i = 1; i < ofValue.size(); ++i) {
      if (problem.nodes[ofValue[i]].required)
        throw std::invalid_argument("rematerialization: a value has two required producers, nodes " +
                                    std::to_string(ofValue[0]) + " and " + std::to_string(ofValue[i]));
      if (problem.nodes[ofValue[0]].required) {
        runAfter[ofValue[i]].push_back(ofValue[0]);
        optionalAfter[ofValue[0]].push_back(ofValue[i]);
      }
    }
  for (size_t i = 0; i < problem.order.size(); ++i)
    orderPosition.at(problem.order[i]) = static_cast<int>(i);
  classify();
  flatten();
  if (peakOf(problem, problem.order) < 0)
    throw std::invalid_argument("rematerialization: the given order is not a valid execution");
}

void RematModel::classify() {
  std::map<std::vector<int>, int> classOfProducers;
  classOf.resize(valueCount);
  classesMade.resize(nodeCount);
  for (int value = 0; value < valueCount; ++value) {
    std::vector<int> sorted = producers[value];
    std::sort(sorted.begin(), sorted.end());
    auto [at, isNew] = classOfProducers.emplace(sorted, static_cast<int>(classes.size()));
    if (isNew) {
      classes.emplace_back();
      for (int node : sorted)
        ++classesMade[node];
    }
    classOf[value] = at->second;
    classes[at->second].push_back(value);
  }
}

void RematModel::flatten() {
  size_t items = 0, reuseCount = 0;
  for (const RematNode &n : problem.nodes) {
    items += n.inputs.size() + n.outputs.size();
    reuseCount += n.reuses.size();
  }
  lists.reserve(items); // so that spans stay where they are
  reuses.reserve(reuseCount);
  for (const RematValue &value : problem.values)
    bytes.push_back(value.bytes);
  auto copied = [](auto &all, const auto &some) {
    auto at = all.insert(all.end(), some.begin(), some.end());
    return std::span(at, all.end());
  };
  for (int node = 0; node < nodeCount; ++node) {
    const RematNode &n = problem.nodes[node];
    RematStep step{n.cost, n.workspace, 0,           copied(lists, n.inputs), copied(lists, n.outputs),
                   {},     n.required,  n.repeatable};
    std::vector<RematStep::Reuse> possible;
    for (RematNode::Reuse reuse : n.reuses)
      if (bytes[n.outputs[reuse.output]] <= bytes[n.inputs[reuse.input]])
        possible.push_back({n.inputs[reuse.input], bytes[n.outputs[reuse.output]], 1ull << (reuse.input & 63),
                            1ull << (reuse.output & 63)});
    step.reuses = copied(reuses, possible);
    for (int value : n.outputs)
      step.made += bytes[value];
    step.hasRules = !freeOrder || !n.overwrites.empty() || !overwrittenBy[node].empty() ||
                    !runAfter[node].empty() || !optionalAfter[node].empty();
    steps.push_back(step);
  }
}

} // namespace kedge::solver
