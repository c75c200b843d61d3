#include "RematMoment.h"
#include <algorithm>

namespace kedge::solver {

RematMoment::RematMoment(const RematModel &model, int node, const std::vector<When> &when)
    : model(model), node(node), when(when), itemOf(model.valueCount, -1), groupOfNode(model.nodeCount, -1),
      forbidden(model.nodeCount), valueWeight(model.valueCount) {
  findForbidden();
  weighOwn();
  for (int later = 0; later < model.nodeCount; ++later)
    if (model.problem.nodes[later].required && later != node && when[later] == When::after)
      for (int value : model.problem.nodes[later].inputs)
        need(value, true);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].keptToEnd)
      need(value, true);
  for (size_t item = 0; item < values.size(); ++item) // grows on the way
    groupOf.push_back(groupFor(values[item]));
  buildCut();
}

void RematMoment::findForbidden() {
  for (int other = 0; other < model.nodeCount; ++other) {
    const RematNode &n = model.problem.nodes[other];
    if (!n.required || (other != node && when[other] != When::before))
      continue;
    forbidden[other] |= !n.repeatable;
    for (int overwritten : n.overwrites)
      forbidden[overwritten] = true;
  }
}

/// The inputs of the node are there anyway, so that holding one costs nothing more, but for an input whose
/// bytes an output would take if it died: counted as taken, and paid for when held.
void RematMoment::weighOwn() {
  const RematNode &n = model.problem.nodes[node];
  for (int value = 0; value < model.valueCount; ++value)
    valueWeight[value] = static_cast<double>(model.problem.values[value].bytes);
  own = n.workspace;
  for (int value : n.outputs) {
    own += model.problem.values[value].bytes;
    valueWeight[value] = 0;
  }
  std::vector<int64_t> taken(n.inputs.size());
  for (RematNode::Reuse reuse : n.reuses) {
    int64_t bytes = model.problem.values[n.outputs[reuse.output]].bytes;
    if (bytes <= model.problem.values[n.inputs[reuse.input]].bytes)
      taken[reuse.input] = std::max(taken[reuse.input], bytes);
  }
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    own += model.problem.values[n.inputs[i]].bytes - taken[i];
    valueWeight[n.inputs[i]] = static_cast<double>(taken[i]);
  }
}

/// A value that only a run after this moment makes first: that run is in every plan and free.
bool RematMoment::comesLater(int value) const {
  if (model.problem.values[value].given || model.producers[value].empty())
    return false;
  int maker = model.producers[value].front();
  return model.problem.nodes[maker].required && maker != node && when[maker] == When::after;
}

void RematMoment::need(int value, bool readInEveryPlan) {
  if (comesLater(value))
    return;
  if (itemOf[value] < 0) {
    itemOf[value] = static_cast<int>(values.size());
    values.push_back(value);
    weights.push_back(valueWeight[value]);
    always.push_back(false);
  }
  always[itemOf[value]] |= readInEveryPlan;
}

/// An optional run always adds its cost; a required one unless it may be its first.
double RematMoment::costLater(int other) const {
  const RematNode &n = model.problem.nodes[other];
  bool ranBefore = other == node || when[other] == When::before;
  return !n.required || ranBefore ? n.cost : 0;
}

/// Nodes that share outputs are one group: running any of them counts as the cheapest of them, needs only
/// what all of them read, and makes all their outputs. Less than any plan pays.
int RematMoment::groupFor(int value) {
  std::vector<int> members;
  std::vector<char> seenNode(model.producers[value].size() > 1 ? model.nodeCount : 0);
  if (model.producers[value].empty())
    return -1;
  int first = model.producers[value].front();
  if (groupOfNode[first] != -1)
    return std::max(groupOfNode[first], -1);
  std::vector<int> queue = {first};
  seenNode.assign(model.nodeCount, 0);
  seenNode[first] = true;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int output : model.problem.nodes[queue[i]].outputs)
      for (int other : model.producers[output])
        if (!seenNode[other]) {
          seenNode[other] = true;
          queue.push_back(other);
        }
  Group group{-1, {}};
  std::vector<int> inputs;
  for (int member : queue) {
    if (forbidden[member])
      continue;
    const std::vector<int> &reads = model.problem.nodes[member].inputs;
    if (group.cost < 0) {
      group.cost = costLater(member);
      inputs = reads;
      continue;
    }
    group.cost = std::min(group.cost, costLater(member));
    std::erase_if(inputs,
                  [&](int input) { return std::find(reads.begin(), reads.end(), input) == reads.end(); });
  }
  int index = group.cost < 0 ? -2 : static_cast<int>(groups.size());
  for (int member : queue)
    groupOfNode[member] = index;
  if (index < 0)
    return -1;
  groups.push_back({group.cost, {}});
  for (int input : inputs) {
    need(input, false);
    if (itemOf[input] >= 0)
      groups[index].inputs.push_back(itemOf[input]);
  }
  return index;
}

void RematMoment::buildCut() {
  int count = items();
  cut.emplace(static_cast<int>(2 + count + groups.size()));
  for (int item = 0; item < count; ++item) {
    alwaysArcs.push_back(cut->addArc(0, 2 + item, always[item] ? MinCut::unlimited : 0));
    holdArcs.push_back(cut->addArc(2 + item, groupOf[item] < 0 ? 1 : 2 + count + groupOf[item], 0));
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    int node = static_cast<int>(2 + count + group);
    runArcs.push_back(cut->addArc(node, 1, 0));
    for (int input : groups[group].inputs)
      cut->addArc(node, 2 + input, MinCut::unlimited);
  }
}

std::optional<RematMoment::Solution> RematMoment::solve(Runs runs, double price,
                                                        const std::vector<Choice> &choices) {
  int count = items();
  for (int item = 0; item < count; ++item)
    cut->setCapacity(holdArcs[item], choices[item] == Choice::held      ? 0
                                     : choices[item] == Choice::dropped ? MinCut::unlimited
                                                                        : price * weights[item]);
  for (size_t group = 0; group < groups.size(); ++group) {
    double cost = groups[group].cost;
    cut->setCapacity(runArcs[group], cost == 0 || runs == Runs::allFree ? 0
                                     : runs == Runs::freeOnly           ? MinCut::unlimited
                                                                        : cost);
  }
  std::vector<char> side = cut->sourceSide(0, 1);
  if (side.empty())
    return std::nullopt;
  Solution solution;
  solution.held.resize(count);
  for (int item = 0; item < count; ++item) {
    bool made = groupOf[item] >= 0 && side[2 + count + groupOf[item]];
    solution.held[item] = choices[item] == Choice::held || (side[2 + item] && !made);
    if (solution.held[item])
      solution.bytes += weights[item];
  }
  for (size_t group = 0; group < groups.size(); ++group)
    if (side[2 + count + group])
      solution.cost += groups[group].cost;
  return solution;
}

} // namespace kedge::solver
