#include "test/unit/solver/RematProblems.h"
#include "lib/Solver/Remat/RematModel.h"
#include <algorithm>
#include <limits>
#include <map>
#include <queue>

namespace kedge::solver::test {

RematProblem graph(const std::vector<std::vector<int>> &inputs, int64_t bytes) {
  RematProblem problem;
  for (size_t i = 0; i < inputs.size(); ++i) {
    RematNode node;
    node.cost = 1;
    node.inputs = inputs[i];
    node.outputs = {static_cast<int>(i)};
    problem.nodes.push_back(node);
    problem.values.push_back({bytes});
    problem.order.push_back(static_cast<int>(i));
  }
  return problem;
}

namespace {

void addOtherWays(RematProblem &problem, RematRandom &random) {
  int required = static_cast<int>(problem.nodes.size());
  for (int node = 0; node < required && problem.nodes.size() < 8; ++node) {
    if (problem.nodes[node].outputs.empty() || !random.chance(0.2))
      continue;
    RematNode other = problem.nodes[node];
    other.required = false;
    other.repeatable = random.chance(0.7);
    other.reuses.clear();
    other.overwrites.clear();
    other.outputs = {other.outputs[random.below(static_cast<int>(other.outputs.size()))]};
    if (!other.inputs.empty() && random.chance(0.5))
      other.inputs.pop_back();
    other.cost = random.below(6);
    problem.nodes.push_back(other);
  }
}

void addOverwrites(RematProblem &problem, RematRandom &random) {
  int node = static_cast<int>(problem.order.size()) - 1;
  for (int other = 0; other < node; ++other)
    if (random.chance(0.3))
      problem.nodes[node].overwrites.push_back(other);
}

} // namespace

RematProblem randomProblem(uint64_t seed) {
  RematRandom random(seed);
  RematProblem problem;
  for (int count = random.below(2); count > 0; --count)
    problem.values.push_back({1 + random.below(6), true, random.chance(0.3)});
  int nodes = 4 + random.below(4);
  for (int i = 0; i < nodes; ++i) {
    RematNode node;
    node.cost = random.below(9);
    node.workspace = random.chance(0.2) ? random.below(5) : 0;
    node.repeatable = !random.chance(0.1);
    for (int value = 0; value < static_cast<int>(problem.values.size()); ++value)
      if (node.inputs.size() < 3 && random.chance(0.35))
        node.inputs.push_back(value);
    int outputs = random.chance(0.2) && problem.values.size() < 8 ? 2 : 1;
    for (int k = 0; k < outputs; ++k) {
      node.outputs.push_back(static_cast<int>(problem.values.size()));
      problem.values.push_back({1 + random.below(9), false, random.chance(0.1)});
    }
    for (int input = 0; input < static_cast<int>(node.inputs.size()); ++input)
      if (random.chance(0.3))
        node.reuses.push_back({random.below(outputs), input});
    problem.nodes.push_back(node);
    problem.order.push_back(i);
  }
  addOtherWays(problem, random);
  if (random.chance(0.3))
    addOverwrites(problem, random);
  return problem;
}

RematProblem trainingStep(int layers, int width, Updates updates) {
  RematProblem problem;
  RematRandom random(7);
  std::vector<double> costs;
  std::vector<int64_t> bytes;
  for (int k = 0; k < width; ++k) {
    costs.push_back(1 + random.below(k % 3 == 0 ? 100 : 10));
    bytes.push_back((1 + random.below(4)) << 20);
  }
  auto value = [&](int64_t size, bool given = false, bool kept = false) {
    problem.values.push_back({size, given, kept});
    return static_cast<int>(problem.values.size()) - 1;
  };
  auto node = [&](double cost, std::vector<int> inputs, std::vector<int> outputs) {
    problem.order.push_back(static_cast<int>(problem.nodes.size()));
    RematNode made;
    made.cost = cost;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    problem.nodes.push_back(made);
  };
  std::vector<std::vector<int>> forward(layers);
  int flow = value(1 << 20, true);
  for (int layer = 0; layer < layers; ++layer) {
    int residual = flow;
    for (int k = 0; k < width; ++k) {
      int out = value(bytes[k]);
      node(costs[k], k + 1 == width ? std::vector<int>{flow, residual} : std::vector<int>{flow}, {out});
      forward[layer].push_back(flow);
      flow = out;
    }
  }
  int gradient = value(1 << 20);
  node(5, {flow}, {gradient});
  std::vector<int> weights, norms;
  for (int layer = layers - 1; layer >= 0; --layer)
    for (int k = width - 1; k >= 0; --k) {
      int out = value(bytes[k]), weight = k % 3 == 0 ? value(1 << 18) : -1;
      node(2 * costs[k], {gradient, forward[layer][k]},
           weight < 0 ? std::vector<int>{out} : std::vector<int>{out, weight});
      if (weight >= 0 && updates == Updates::atOnce)
        node(1, {weight}, {value(1 << 10, false, true)});
      if (weight >= 0 && updates == Updates::behindAll) {
        weights.push_back(weight);
        norms.push_back(value(64));
        node(1, {weight}, {norms.back()});
      }
      gradient = out;
    }
  if (updates == Updates::atOnce)
    return problem;
  int scale = value(64);
  node(1, norms, {scale});
  for (int weight : weights)
    node(1, {weight, scale}, {value(0, false, true)});
  return problem;
}

namespace {

/// What ran at least once, and what is held: bits of nodes and of values.
struct State {
  uint32_t ran, held;
  bool operator<(const State &other) const { return std::pair(ran, held) < std::pair(other.ran, other.held); }
};

class StateSearch {
public:
  StateSearch(const RematProblem &problem, int64_t budget, bool freeOrder)
      : problem(problem), model(problem, freeOrder), budget(budget) {}

  double run() {
    State start{0, 0}, all{0, 0};
    for (size_t value = 0; value < problem.values.size(); ++value) {
      start.held |= problem.values[value].given << value;
      all.held |= problem.values[value].keptToEnd << value;
    }
    for (int node : problem.order)
      all.ran |= 1u << node;
    reach(start, 0);
    while (!open.empty()) {
      auto [cost, state] = open.top();
      open.pop();
      if (cost > best[state])
        continue;
      if ((state.ran & all.ran) == all.ran && (state.held & all.held) == all.held)
        return cost;
      for (size_t value = 0; value < problem.values.size(); ++value)
        if (state.held >> value & 1)
          reach({state.ran, state.held & ~(1u << value)}, cost);
      for (int node = 0; node < model.nodeCount; ++node)
        execute(node, state, cost);
    }
    return std::numeric_limits<double>::infinity();
  }

private:
  void reach(State state, double cost) {
    auto [at, isNew] = best.emplace(state, cost);
    if (!isNew && at->second <= cost)
      return;
    at->second = cost;
    open.push({cost, state});
  }

  bool mayRun(int node, State state) const {
    const RematNode &n = problem.nodes[node];
    bool again = state.ran >> node & 1;
    if (again && !n.repeatable)
      return false;
    for (int other : model.overwrittenBy[node])
      if (state.ran >> other & 1)
        return false;
    for (int other : model.runAfter[node])
      if (!(state.ran >> other & 1))
        return false;
    for (int value : n.inputs)
      if (!(state.held >> value & 1))
        return false;
    int position = model.orderPosition[node];
    return again || model.freeOrder || position <= 0 || (state.ran >> problem.order[position - 1] & 1);
  }

  void execute(int node, State state, double cost) {
    const RematNode &n = problem.nodes[node];
    if (!mayRun(node, state))
      return;
    uint32_t outputs = 0;
    for (int value : n.outputs)
      outputs |= 1u << value;
    int64_t bytes = n.workspace;
    for (size_t value = 0; value < problem.values.size(); ++value)
      if ((state.held | outputs) >> value & 1)
        bytes += problem.values[value].bytes;
    for (uint32_t dying = 0; dying < 1u << n.inputs.size(); ++dying) {
      uint32_t gone = 0, placed = 0, taken = 0;
      for (size_t i = 0; i < n.inputs.size(); ++i)
        gone |= (dying >> i & 1) << n.inputs[i];
      int64_t saved = 0;
      for (RematNode::Reuse reuse : n.reuses) {
        int64_t size = problem.values[n.outputs[reuse.output]].bytes;
        if (!(dying >> reuse.input & 1) || placed >> reuse.output & 1 || taken >> reuse.input & 1 ||
            size > problem.values[n.inputs[reuse.input]].bytes)
          continue;
        placed |= 1u << reuse.output;
        taken |= 1u << reuse.input;
        saved += size;
      }
      if (bytes - saved <= budget)
        reach({state.ran | 1u << node, (state.held & ~gone) | outputs}, cost + n.cost);
    }
  }

  const RematProblem &problem;
  RematModel model;
  int64_t budget;
  std::map<State, double> best;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
};

} // namespace

double optimum(const RematProblem &problem, int64_t budget, bool freeOrder) {
  return StateSearch(problem, budget, freeOrder).run();
}

} // namespace kedge::solver::test
