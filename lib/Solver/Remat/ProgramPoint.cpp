#include "lib/Solver/Remat/ProgramPoint.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace kedge::solver {

ProgramPoint::ProgramPoint(const RematModel &model, int node, const std::vector<When> &when)
    : model(model), node(node), when(when), itemOf(model.valueCount, -1),
      groupOfClass(model.classes.size(), -1), forbidden(model.nodeCount), valueWeight(model.valueCount) {
  findForbidden();
  weighOwn();
  for (int later = 0; later < model.nodeCount; ++later)
    if (model.problem.nodes[later].required && later != node && when[later] != When::before)
      for (int value : model.problem.nodes[later].inputs)
        need(value, when[later] == When::after);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].keptToEnd)
      need(value, true);
  for (size_t item = 0; item < values.size(); ++item) // grows on the way
    groupOf.push_back(groupFor(values[item]));
  buildCut();
}

void ProgramPoint::findForbidden() {
  for (int other = 0; other < model.nodeCount; ++other) {
    const RematNode &n = model.problem.nodes[other];
    if (!n.required || (other != node && when[other] != When::before))
      continue;
    forbidden[other] |= !n.repeatable;
    for (int overwritten : n.overwrites)
      forbidden[overwritten] = true;
  }
}

/// Of each input the bytes that an output would take if it died. Nothing where several inputs compete for
/// fewer outputs: then outputs count as placed whatever is held, which is less wrong than all of the inputs
/// being taken.
std::vector<int64_t> ProgramPoint::takenInputs(const RematModel &model, int node) {
  const RematNode &n = model.problem.nodes[node];
  std::vector<int64_t> taken(n.inputs.size());
  for (RematNode::Reuse reuse : n.reuses)
    if (int64_t bytes = placedBytes(model, node, reuse))
      taken[reuse.input] = std::max(taken[reuse.input], bytes);
  if (std::accumulate(taken.begin(), taken.end(), int64_t(0)) > bytesPlaced(model, node))
    std::fill(taken.begin(), taken.end(), 0);
  return taken;
}

/// Of an output that may take an input's bytes; 0 where it is too large for them.
int64_t ProgramPoint::placedBytes(const RematModel &model, int node, RematNode::Reuse reuse) {
  const RematNode &n = model.problem.nodes[node];
  int64_t bytes = model.problem.values[n.outputs[reuse.output]].bytes;
  return bytes <= model.problem.values[n.inputs[reuse.input]].bytes ? bytes : 0;
}

/// Of all outputs that may take an input's bytes.
int64_t ProgramPoint::bytesPlaced(const RematModel &model, int node) {
  const RematNode &n = model.problem.nodes[node];
  std::vector<int64_t> placed(n.outputs.size());
  for (RematNode::Reuse reuse : n.reuses)
    placed[reuse.output] = std::max(placed[reuse.output], placedBytes(model, node, reuse));
  return std::accumulate(placed.begin(), placed.end(), int64_t(0));
}

int64_t ProgramPoint::bytesOfRun(const RematModel &model, int node) {
  const RematNode &n = model.problem.nodes[node];
  int64_t bytes = n.workspace;
  for (const std::vector<int> *list : {&n.inputs, &n.outputs})
    for (int value : *list)
      bytes += model.problem.values[value].bytes;
  std::vector<int64_t> taken = takenInputs(model, node);
  int64_t inputs = std::accumulate(taken.begin(), taken.end(), int64_t(0));
  return bytes - (inputs > 0 ? inputs : bytesPlaced(model, node));
}

/// The inputs of the node are there anyway, so that holding one costs nothing more, but for an input whose
/// bytes an output would take if it died: counted as taken, and paid for when held.
void ProgramPoint::weighOwn() {
  const RematNode &n = model.problem.nodes[node];
  own = bytesOfRun(model, node);
  for (int value = 0; value < model.valueCount; ++value)
    valueWeight[value] = static_cast<double>(model.problem.values[value].bytes);
  for (int value : n.outputs)
    valueWeight[value] = 0;
  std::vector<int64_t> taken = takenInputs(model, node);
  for (size_t i = 0; i < n.inputs.size(); ++i)
    valueWeight[n.inputs[i]] = static_cast<double>(taken[i]);
}

/// A value that only a run after this moment makes first: that run is in every plan and free.
bool ProgramPoint::comesLater(int value) const {
  if (model.problem.values[value].given || model.producers[value].empty())
    return false;
  int producer = model.producers[value].front();
  return model.problem.nodes[producer].required && producer != node && when[producer] == When::after;
}

void ProgramPoint::need(int value, bool readInEveryPlan) {
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

bool ProgramPoint::undecided(int other) const {
  return model.problem.nodes[other].required && other != node && when[other] == When::unknown;
}

/// What one of the members costs, each spread over the classes that it makes: a plan that runs it pays for
/// all of them. An optional run always adds its cost; a required one unless it is its first.
void ProgramPoint::weighGroup(Group &group, const std::vector<int> &members) const {
  group.cost = std::numeric_limits<double>::infinity();
  for (int member : members) {
    const RematNode &n = model.problem.nodes[member];
    bool isFirst = n.required && member != node && when[member] == When::after;
    group.cost = std::min(group.cost, isFirst ? 0 : n.cost / model.classesMade[member]);
    if (undecided(member))
      group.later = member;
  }
}

/// Whichever node makes a value again, what all of them read is needed, and what all of them make along with
/// it will be there: needed, too, and perhaps made by that very run.
std::vector<int> ProgramPoint::neededBy(const std::vector<int> &members, int ofClass) const {
  auto touches = [&](int member, int value) {
    const RematNode &n = model.problem.nodes[member];
    return std::find(n.inputs.begin(), n.inputs.end(), value) != n.inputs.end() ||
           std::find(n.outputs.begin(), n.outputs.end(), value) != n.outputs.end();
  };
  std::vector<int> values = model.problem.nodes[members.front()].inputs;
  const std::vector<int> &made = model.problem.nodes[members.front()].outputs;
  values.insert(values.end(), made.begin(), made.end());
  std::erase_if(values, [&](int value) {
    return model.classOf[value] == ofClass ||
           !std::all_of(members.begin(), members.end(), [&](int member) { return touches(member, value); });
  });
  return values;
}

/// Values with the same producers are one group: running any of these makes all of them.
int ProgramPoint::groupFor(int value) {
  if (model.producers[value].empty())
    return -1;
  int ofClass = model.classOf[value];
  if (groupOfClass[ofClass] != -1)
    return std::max(groupOfClass[ofClass], -1);
  std::vector<int> members;
  for (int producer : model.producers[value])
    if (!forbidden[producer])
      members.push_back(producer);
  int index = members.empty() ? -2 : static_cast<int>(groups.size());
  groupOfClass[ofClass] = index;
  if (members.empty())
    return -1;
  groups.emplace_back();
  weighGroup(groups[index], members);
  for (int input : neededBy(members, ofClass)) {
    need(input, false);
    if (itemOf[input] >= 0)
      groups[index].inputs.push_back(itemOf[input]);
  }
  return index;
}

void ProgramPoint::buildCut() {
  int count = items(), size = static_cast<int>(2 + count + groups.size());
  std::vector<int> placeOf(model.nodeCount, -1);
  for (int other = 0; other < model.nodeCount; ++other)
    if (undecided(other))
      placeOf[other] = size++;
  cut.emplace(size);
  for (int item = 0; item < count; ++item) {
    cut->addArc(0, 2 + item, always[item] ? MinCut::unlimited : 0);
    holdArcs.push_back(cut->addArc(2 + item, groupOf[item] < 0 ? 1 : 2 + count + groupOf[item], 0));
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    int at = static_cast<int>(2 + count + group), later = groups[group].later;
    groups[group].laterPlace = later < 0 ? -1 : placeOf[later];
    runArcs.push_back(cut->addArc(at, later < 0 ? 1 : placeOf[later], 0));
    neverArcs.push_back(later < 0 ? runArcs.back() : cut->addArc(at, 1, 0));
    for (int input : groups[group].inputs)
      cut->addArc(at, 2 + input, MinCut::unlimited);
  }
  for (int other = 0; other < model.nodeCount; ++other)
    if (placeOf[other] >= 0)
      connectLater(other, placeOf);
}

/// What runs later reads its inputs later, makes its outputs later, and what needs it for its own first run
/// comes later still.
void ProgramPoint::connectLater(int other, const std::vector<int> &placeOf) {
  auto follows = [&](int to) { cut->addArc(placeOf[other], to, MinCut::unlimited); };
  for (int value : model.problem.nodes[other].inputs)
    if (itemOf[value] >= 0)
      follows(2 + itemOf[value]);
  for (int value : model.problem.nodes[other].outputs)
    if (int group = groupOfClass[model.classOf[value]]; group >= 0)
      follows(2 + items() + group);
  for (int value : model.problem.nodes[other].outputs)
    if (!model.problem.values[value].given)
      for (int reader : model.readers[value])
        if (placeOf[reader] >= 0)
          follows(placeOf[reader]);
  for (int overwriting : model.overwrittenBy[other])
    if (placeOf[overwriting] >= 0)
      follows(placeOf[overwriting]);
}

std::optional<ProgramPoint::Solution> ProgramPoint::solve(Runs runs, double price,
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
    if (groups[group].later >= 0)
      cut->setCapacity(neverArcs[group], 0);
  }
  // What is held is not made later.
  for (int item = 0; item < count; ++item)
    if (choices[item] == Choice::held && groupOf[item] >= 0)
      cut->setCapacity(neverArcs[groupOf[item]], MinCut::unlimited);
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
    if (side[2 + count + group] && (groups[group].later < 0 || !side[groups[group].laterPlace]))
      solution.cost += groups[group].cost;
  return solution;
}

} // namespace kedge::solver
