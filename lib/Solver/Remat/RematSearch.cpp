#include "lib/Solver/Remat/RematSearch.h"
#include <algorithm>

namespace kedge::solver {
namespace {

/// -ln(u) for u in (0, 1] from arithmetic that is alike on all machines; libm's last bits are not.
double negativeLog(double u) {
  static constexpr double ln2 = 0.6931471805599453;
  double result = 0;
  while (u < 0.5) {
    u *= 2;
    result += ln2;
  }
  double z = (1 - u) / (1 + u), square = z * z;
  return result + 2 * z * (1 + square / 3 + square * square / 5 + square * square * square / 7);
}

/// Cost of a byte of excess: falls while the sequence fits (or is as close as the heat asks), rises while it
/// does not.
class Pressure {
public:
  Pressure(double start) : value(start), least(start / 1000), most(start * 1000) {}
  void adapt(bool fits) { value = std::clamp(fits ? value / 1.05 : value * 1.05, least, most); }
  double value;

private:
  double least, most;
};

} // namespace

RematSearch::RematSearch(const RematModel &model, uint64_t seed)
    : model(model), random(seed), inBranch(model.valueCount) {
  // Branches can move past each other only where neighbours in the order do not depend on each other.
  const std::vector<int> &order = model.problem.order;
  int free = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    const std::vector<int> &made = model.problem.nodes[order[i - 1]].outputs;
    bool reads = false;
    for (int value : model.problem.nodes[order[i]].inputs)
      reads |= std::find(made.begin(), made.end(), value) != made.end();
    free += !reads;
  }
  if (model.freeOrder && !order.empty())
    branchShare = 0.08 * free / static_cast<double>(order.size());
}

int RematSearch::pickStep(const RematSequence &sequence) {
  for (int tries = 0; tries < 64; ++tries) {
    int slot = random.below(sequence.slots());
    if (sequence.node(slot) >= 0)
      return slot;
  }
  return -1;
}

/// What runs at most once and is not there yet may run, too.
bool RematSearch::mayRunAgain(const RematSequence &sequence, int node) const {
  return model.steps[node].repeatable || sequence.occurrences(node).empty();
}

bool RematSearch::runInputsAgain(RematSequence &sequence, int slot, double probability, int &left) {
  for (int value : model.steps[sequence.node(slot)].inputs) {
    RematSequence::Interval held = sequence.instanceBefore(value, slot);
    if (model.producers[value].empty() || held.first == sequence.slots())
      continue;
    // Only what this run alone would hold for longer is worth another run; `slot` is itself a read by now.
    int previous = std::max(sequence.readBefore(value, slot), held.first);
    bool missing = held.first < 0, extended = held.last == slot && slot - previous > 8;
    if (!missing && !(extended && random.chance(probability)))
      continue;
    if (left-- <= 0)
      return !missing;
    const std::vector<int> &producers = model.producers[value];
    int producer = producers[random.below(static_cast<int>(producers.size()))];
    if (!mayRunAgain(sequence, producer))
      continue;
    if (sequence.cost() + model.steps[producer].cost > costLimit)
      return false;
    int at = sequence.insertBefore(slot, producer);
    if (at < 0 || !runInputsAgain(sequence, at, probability, left))
      return false;
  }
  return true;
}

bool RematSearch::postponeOverwrites(RematSequence &sequence, int node, int slot) {
  for (int other : model.overwrittenBy[node]) {
    if (sequence.occurrences(other).empty() || sequence.occurrences(other).front() > slot)
      continue;
    sequence.remove(sequence.occurrences(other).front());
    if (sequence.insertBefore(slot + 1, other) < 0)
      return false;
  }
  return true;
}

bool RematSearch::runAgainBefore(RematSequence &sequence, int value, int read) {
  const std::vector<int> &producers = model.producers[value];
  if (producers.empty())
    return false;
  int producer = producers[random.below(static_cast<int>(producers.size()))];
  if (!mayRunAgain(sequence, producer) || sequence.cost() + model.steps[producer].cost > costLimit)
    return false;
  int at = sequence.insertBefore(read, producer);
  if (at < 0)
    return false;
  static constexpr double depths[] = {0, 0, 0.3, 0.6, 0.9};
  int left = 40;
  return runInputsAgain(sequence, at, depths[random.below(5)], left);
}

bool RematSearch::runAgain(RematSequence &sequence) {
  int slot = pickStep(sequence);
  if (slot < 0)
    return false;
  std::span<const int> inputs = model.steps[sequence.node(slot)].inputs;
  if (inputs.empty())
    return false;
  return runAgainBefore(sequence, inputs[random.below(static_cast<int>(inputs.size()))], slot);
}

bool RematSearch::runAgainAcrossPeak(RematSequence &sequence) {
  int over = sequence.slotOverBudget(random.below(sequence.slots()));
  if (over < 0)
    return runAgain(sequence);
  for (int tries = 0; tries < 24; ++tries) {
    int value = random.below(model.valueCount);
    RematSequence::Interval held = sequence.instanceBefore(value, over);
    if (held.first < 0 || held.first >= over || held.last <= over)
      continue;
    int read = sequence.nextRead(value, over);
    if (read < 0 || sequence.nextRead(value, over - 1) == over)
      continue;
    return runAgainBefore(sequence, value, read);
  }
  return runAgain(sequence);
}

bool RematSearch::dropRun(RematSequence &sequence) {
  const std::vector<int> &nodes = sequence.nodesRunTwice();
  if (nodes.empty())
    return false;
  const SlotList &runs = sequence.occurrences(nodes[random.below(static_cast<int>(nodes.size()))]);
  sequence.remove(runs[random.below(static_cast<int>(runs.size()))]);
  return true;
}

bool RematSearch::moveStep(RematSequence &sequence) {
  int slot;
  if (random.chance(0.3) && !sequence.nodesRunTwice().empty()) {
    const std::vector<int> &nodes = sequence.nodesRunTwice();
    const SlotList &runs = sequence.occurrences(nodes[random.below(static_cast<int>(nodes.size()))]);
    slot = runs[random.below(static_cast<int>(runs.size()))];
  } else {
    slot = pickStep(sequence);
  }
  if (slot < 0)
    return false;
  int node = sequence.node(slot);
  const RematStep &n = model.steps[node];
  int lowest = 1, highest = sequence.slots() - 1;
  for (int value : n.inputs) {
    RematSequence::Interval held = sequence.instanceBefore(value, slot);
    // With an older instance before it the step may also go further up, reading that one.
    if (held.first > lowest && (sequence.instanceBefore(value, held.first).first < 0 || random.chance(0.8)))
      lowest = held.first + 1;
  }
  for (int value : n.outputs) {
    int read = sequence.nextRead(value, slot);
    if (read >= 0)
      highest = std::min(highest, read);
  }
  if (highest <= lowest)
    return false;
  int target;
  double kind = random.unit();
  if (kind < 0.2)
    target = highest;
  else if (kind < 0.4)
    target = lowest + 1;
  else if (kind < 0.7)
    target = std::clamp(slot + random.below(65) - 32, lowest + 1, highest);
  else
    target = lowest + 1 + random.below(highest - lowest);
  if (target == slot || target == slot + 1)
    return false;
  sequence.remove(slot);
  return sequence.insertBefore(target, node) >= 0;
}

/// The step at `slot` and all between it and `target` that it needs (target before it) or that need it
/// (behind it).
bool RematSearch::collectBranch(const RematSequence &sequence, int slot, int target) {
  static constexpr size_t longestBranch = 32;
  bool earlier = target < slot;
  std::fill(inBranch.begin(), inBranch.end(), 0);
  branch.clear();
  bool passesOthers = false;
  for (int at = slot; at != target; at += earlier ? -1 : 1) {
    if (sequence.node(at) < 0)
      continue;
    const RematStep &n = model.steps[sequence.node(at)];
    std::span<const int> touching = earlier ? n.outputs : n.inputs, further = earlier ? n.inputs : n.outputs;
    bool belongs = at == slot;
    for (int value : touching)
      belongs |= inBranch[value] != 0;
    // Behind a step that makes a value once more the branch is no longer concerned with it.
    for (int value : n.outputs)
      inBranch[value] = false;
    passesOthers |= !belongs;
    if (!belongs)
      continue;
    for (int value : further)
      inBranch[value] = true;
    branch.push_back(at);
    if (branch.size() > longestBranch)
      return false;
  }
  if (earlier)
    std::reverse(branch.begin(), branch.end());
  return passesOthers;
}

/// Moves a step far, together with the steps that tie it down.
bool RematSearch::moveBranch(RematSequence &sequence) {
  int slot = pickStep(sequence);
  if (slot < 0)
    return false;
  int reach = 4 << random.below(9);
  int target = slot + random.below(2 * reach + 1) - reach;
  if (target < 1 || target >= sequence.slots() - 1 || target == slot ||
      !collectBranch(sequence, slot, target))
    return false;
  std::vector<int> nodes;
  for (int at : branch)
    nodes.push_back(sequence.node(at));
  for (int at : branch)
    sequence.remove(at);
  int border = target + (target > slot);
  for (int node : nodes)
    if (sequence.insertBefore(border, node) < 0)
      return false;
  return true;
}

bool RematSearch::propose(RematSequence &sequence) {
  double kind = random.unit();
  if (sequence.excess() > 0 && kind < 0.25)
    return runAgainAcrossPeak(sequence);
  if (kind < 0.4)
    return runAgain(sequence);
  if (kind < 0.65)
    return dropRun(sequence);
  if (kind < 0.65 + branchShare)
    return moveBranch(sequence);
  return moveStep(sequence);
}

AnnealResult RematSearch::anneal(const std::vector<int> &start, int64_t budget,
                                 const AnnealOptions &options) {
  RematSequence sequence(model, start, budget);
  double meanCost = std::max(model.requiredCost, 1e-300) / std::max<size_t>(1, model.problem.order.size());
  Pressure pressure(10 * meanCost / (0.01 * static_cast<double>(std::max<int64_t>(budget, 1))));
  AnnealResult best;
  auto consider = [&] {
    bool feasible = sequence.excess() == 0;
    bool better = feasible ? !best.feasible || sequence.cost() < best.cost - 1e-9 * meanCost
                           : !best.feasible && (best.sequence.empty() || sequence.excess() < best.excess);
    if (!better)
      return;
    best.feasible = feasible;
    best.cost = sequence.cost();
    best.excess = sequence.excess();
    best.sequence = sequence.sequence();
  };
  consider();
  // Heat falls by a constant factor for each of `coolings` equal shares of the work.
  static constexpr int coolings = 200;
  double heat = options.startHeat * meanCost;
  double logarithm = -negativeLog(options.endHeat / options.startHeat) / coolings;
  double factor = 1 + logarithm * (1 + logarithm / 2 * (1 + logarithm / 3));
  int64_t start0 = sequence.work(), share = std::max<int64_t>(options.work / coolings, 1);
  int64_t proposals = 0, sinceAdapted = 0;
  for (int cooled = 0; cooled < coolings;) {
    for (int i = 0; i < 64; ++i, ++proposals) {
      double before = sequence.cost() + pressure.value * sequence.excess();
      double tolerated = heat * negativeLog(1 - random.unit());
      costLimit = before + tolerated; // even if all excess went away
      if (propose(sequence) && sequence.valid() &&
          sequence.cost() + pressure.value * sequence.excess() - before <= tolerated) {
        sequence.commit();
        consider();
      } else {
        sequence.rollback();
      }
    }
    if (++sinceAdapted == 4) {
      sinceAdapted = 0;
      double overheat = heat / meanCost - options.endHeat;
      pressure.adapt(sequence.excess() <= overheat * options.slack * static_cast<double>(sequence.blocks()) *
                                              static_cast<double>(budget));
    }
    double timeDone = options.progress ? options.progress() * coolings : 0;
    auto due = [&] {
      return sequence.work() + proposals - start0 > share * (cooled + 1) || timeDone > cooled + 1;
    };
    for (; cooled < coolings && due(); ++cooled)
      heat *= factor;
    if (options.outOfTime && options.outOfTime())
      break;
  }
  if (options.last && best.feasible && sequence.excess() == 0 &&
      sequence.cost() < best.cost + 1e-9 * meanCost)
    best.sequence = sequence.sequence();
  return best;
}

} // namespace kedge::solver
