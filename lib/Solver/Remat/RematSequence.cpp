#include "lib/Solver/Remat/RematSequence.h"
#include <algorithm>

namespace kedge::solver {
namespace {

/// Slots that an insertion moves at most.
constexpr int longestShift = 64;

} // namespace

RematSequence::RematSequence(const RematModel &model, const std::vector<int> &sequence, int64_t budget)
    : model(model), budget(budget) {
  distribute(sequence);
}

void RematSequence::reset(const std::vector<int> &sequence, int64_t newBudget) {
  budget = newBudget;
  distribute(sequence);
}

std::vector<int> RematSequence::sequence() const {
  std::vector<int> result;
  for (int node : nodeAt)
    if (node >= 0)
      result.push_back(node);
  return result;
}

int64_t RematSequence::peak() {
  settle();
  int64_t result = 0;
  for (const Block &one : block)
    result = std::max(result, one.top);
  return result;
}

RematSequence::Interval RematSequence::instanceBefore(int value, int slot) const {
  const ValueState &state = values[value];
  int first = state.makes.before(slot);
  if (first < 0)
    return {-1, -1};
  int next = state.makes.after(first, slots());
  return {first, std::max(first, state.reads.before(next))};
}

int RematSequence::slotOverBudget(int from) {
  settle();
  int blocks = static_cast<int>(block.size());
  for (int i = 0, index = from / blockSize; i < blocks; ++i, index = index + 1 == blocks ? 0 : index + 1)
    if (block[index].top > budget)
      for (int slot = index * blockSize; slot < (index + 1) * blockSize; ++slot)
        if (bytes(slot) > budget)
          return slot;
  return -1;
}

void RematSequence::setTop(Block &one, int64_t top) {
  totalExcess += over(top) - over(one.top);
  one.top = top;
}

int64_t RematSequence::highest(int index) const {
  const int64_t *first = load.data() + static_cast<std::ptrdiff_t>(index) * blockSize;
  return *std::max_element(first, first + blockSize) + block[index].added;
}

void RematSequence::addBytesInBlock(int index, int first, int last, int64_t bytes) {
  Block &one = block[index];
  int64_t most = load[first] += bytes;
  for (int slot = first + 1; slot <= last; ++slot)
    most = std::max(most, load[slot] += bytes);
  most += one.added;
  if (bytes > 0 && most > one.top)
    setTop(one, most);
  else if (bytes < 0 && most - bytes == one.top)
    setTop(one, highest(index));
}

/// One step of a move often takes away what another has added, and a rejected move takes all of it back,
/// mostly before bytes are read. So changes wait in a list: a change of opposite sign with the same first or
/// last slot is merged with this one.
void RematSequence::addBytes(int first, int last, int64_t bytes) {
  first = std::max(first, 1);
  if (first > last || bytes == 0)
    return;
  workDone += 1 + (last / blockSize - first / blockSize) / 32;
  for (size_t i = pending.size(); i-- > 0;) {
    Pending &other = pending[i];
    if (other.bytes != -bytes || (other.first != first && other.last != last))
      continue;
    if (other.first == first && other.last == last) {
      other = pending.back();
      pending.pop_back();
    } else if (other.first == first) {
      other = {std::min(other.last, last) + 1, std::max(other.last, last),
               other.last > last ? other.bytes : bytes};
    } else {
      other = {std::min(other.first, first), std::max(other.first, first) - 1,
               other.first < first ? other.bytes : bytes};
    }
    return;
  }
  pending.push_back({first, last, bytes});
}

void RematSequence::settle() {
  for (const Pending &one : pending)
    addToLoads(one.first, one.last, one.bytes);
  pending.clear();
}

void RematSequence::addToLoads(int first, int last, int64_t bytes) {
  int firstBlock = first / blockSize, lastBlock = last / blockSize;
  if (firstBlock == lastBlock)
    return addBytesInBlock(firstBlock, first, last, bytes);
  addBytesInBlock(firstBlock, first, (firstBlock + 1) * blockSize - 1, bytes);
  addBytesInBlock(lastBlock, lastBlock * blockSize, last, bytes);
  int64_t excess = 0;
  for (int index = firstBlock + 1; index < lastBlock; ++index) {
    Block &one = block[index];
    excess += over(one.top + bytes) - over(one.top);
    one.added += bytes;
    one.top += bytes;
  }
  totalExcess += excess;
}

void RematSequence::addMake(int value, int slot) {
  ValueState &state = values[value];
  int64_t bytes = model.bytes[value];
  int next = state.makes.after(slot, slots());
  int before = state.makes.before(slot);
  int lastRead = state.reads.before(next);
  int end = std::max(slot, lastRead);
  if (before < 0) {
    orphans -= state.reads.countBetween(slot, next);
    addBytes(slot, end, bytes);
  } else {
    int oldEnd = std::max(before, lastRead);
    int newOldEnd = std::max(before, state.reads.before(slot));
    // The old instance ends at its last read; the new one takes over what follows.
    if (oldEnd > slot)
      addBytes(newOldEnd + 1, slot - 1, -bytes);
    else
      addBytes(slot, slot, bytes);
    state.makes.insert(slot);
    refreshReuse(newOldEnd);
    refreshReuse(end);
    return;
  }
  state.makes.insert(slot);
  refreshReuse(end);
}

void RematSequence::removeMake(int value, int slot) {
  ValueState &state = values[value];
  int64_t bytes = model.bytes[value];
  state.makes.erase(slot);
  int next = state.makes.after(slot, slots());
  int before = state.makes.before(slot);
  int lastRead = state.reads.before(next);
  int end = std::max(slot, lastRead);
  if (before < 0) {
    orphans += state.reads.countBetween(slot, next);
    addBytes(slot, end, -bytes);
  } else {
    int newOldEnd = std::max(before, state.reads.before(slot));
    if (lastRead > slot)
      addBytes(newOldEnd + 1, slot - 1, bytes);
    else
      addBytes(slot, slot, -bytes);
    refreshReuse(newOldEnd);
  }
  refreshReuse(end);
}

void RematSequence::addRead(int value, int slot) {
  ValueState &state = values[value];
  int first = state.makes.before(slot);
  if (first < 0) {
    ++orphans;
    state.reads.insert(slot);
    return;
  }
  int end = std::max(first, state.reads.before(state.makes.after(slot, slots())));
  state.reads.insert(slot);
  if (slot > end) {
    addBytes(end + 1, slot, model.bytes[value]);
    refreshReuse(end);
  }
}

void RematSequence::removeRead(int value, int slot) {
  ValueState &state = values[value];
  int first = state.makes.before(slot);
  state.reads.erase(slot);
  if (first < 0) {
    --orphans;
    return;
  }
  int end = std::max(first, state.reads.before(state.makes.after(slot, slots())));
  if (slot > end) {
    addBytes(end + 1, slot, -model.bytes[value]);
    refreshReuse(end);
  }
}

bool RematSequence::diesAt(int value, int slot) const {
  const ValueState &state = values[value];
  int next = state.reads.after(slot, slots());
  return state.makes.before(slot) >= 0 && (next >= slots() || next > state.makes.after(slot, slots()));
}

int64_t RematSequence::savedAt(int slot) const {
  int64_t saving = 0;
  uint64_t taken = 0, placed = 0;
  for (const RematStep::Reuse &reuse : model.steps[nodeAt[slot]].reuses) {
    if ((taken & reuse.inputBit) || (placed & reuse.outputBit) || !diesAt(reuse.value, slot))
      continue;
    taken |= reuse.inputBit;
    placed |= reuse.outputBit;
    saving += reuse.bytes;
  }
  return saving;
}

void RematSequence::refreshReuse(int slot) {
  if (nodeAt[slot] < 0 || model.steps[nodeAt[slot]].reuses.empty())
    return;
  int64_t saving = savedAt(slot);
  if (saving != saved[slot]) {
    addBytes(slot, slot, saved[slot] - saving);
    saved[slot] = saving;
  }
}

void RematSequence::noteRepeated(int node) {
  bool isRepeated = occurs[node].size() > 1 || (!model.steps[node].required && !occurs[node].empty());
  if (isRepeated == (repeatedPlace[node] >= 0))
    return;
  if (isRepeated) {
    repeatedPlace[node] = static_cast<int>(repeated.size());
    repeated.push_back(node);
    return;
  }
  repeatedPlace[repeated.back()] = repeatedPlace[node];
  repeated[repeatedPlace[node]] = repeated.back();
  repeated.pop_back();
  repeatedPlace[node] = -1;
}

void RematSequence::put(int slot, int node) {
  const RematStep &n = model.steps[node];
  nodeAt[slot] = node;
  occurs[node].insert(slot);
  noteRepeated(node);
  totalCost += n.cost;
  ++steps;
  ++workDone;
  addBytes(slot, slot, n.workspace);
  for (int value : n.inputs)
    addRead(value, slot);
  for (int value : n.outputs)
    addMake(value, slot);
  refreshReuse(slot);
}

void RematSequence::take(int slot) {
  int node = nodeAt[slot];
  const RematStep &n = model.steps[node];
  addBytes(slot, slot, saved[slot] - n.workspace);
  saved[slot] = 0;
  nodeAt[slot] = -1;
  occurs[node].erase(slot);
  noteRepeated(node);
  totalCost -= n.cost;
  --steps;
  ++workDone;
  for (int value : n.inputs)
    removeRead(value, slot);
  for (int value : n.outputs)
    removeMake(value, slot);
}

int RematSequence::insertBefore(int slot, int node) {
  if (slot < 2)
    return -1;
  int target = slot - 1;
  if (nodeAt[target] < 0) {
    int start = target;
    while (start > 1 && nodeAt[start - 1] < 0)
      --start;
    target = (start + target) / 2;
  } else {
    int empty = target;
    while (empty >= 1 && nodeAt[empty] >= 0 && target - empty < longestShift)
      --empty;
    if (empty < 1 || nodeAt[empty] >= 0) {
      crowded = true;
      return -1;
    }
    crowded |= target - empty > longestShift / 2;
    int work = slideLeft(empty, target);
    journal.push_back({empty, target, Change::Kind::slid, work});
    workDone += work;
  }
  journal.push_back({target, node, Change::Kind::put});
  put(target, node);
  return target;
}

void RematSequence::remove(int slot) {
  journal.push_back({slot, nodeAt[slot], Change::Kind::taken});
  take(slot);
}

bool RematSequence::rulesHold(int node) const {
  const RematStep &step = model.steps[node];
  size_t times = occurs[node].size();
  if ((times == 0 && step.required) || (times > 1 && !step.repeatable))
    return false;
  if (!step.hasRules)
    return true;
  int first = firstRun(node);
  for (int other : model.optionalAfter[node])
    if (firstRun(other) < first)
      return false;
  if (times == 0)
    return true;
  for (int other : model.runAfter[node])
    if (first < firstRun(other))
      return false;
  for (int other : model.problem.nodes[node].overwrites)
    if (!occurs[other].empty() && occurs[other].back() > first)
      return false;
  for (int other : model.overwrittenBy[node])
    if (occurs[node].back() > firstRun(other))
      return false;
  int position = model.freeOrder ? -1 : model.orderPosition[node];
  if (position < 0)
    return true;
  const std::vector<int> &order = model.problem.order;
  return (position == 0 || firstRun(order[position - 1]) < first) &&
         (position + 1 == static_cast<int>(order.size()) || first < firstRun(order[position + 1]));
}

bool RematSequence::valid() const {
  if (orphans)
    return false;
  for (const Change &change : journal)
    if (change.kind != Change::Kind::slid && !rulesHold(change.node))
      return false;
  return true;
}

void RematSequence::commit() {
  journal.clear();
  if (crowded || steps * 5 > slots() * 4)
    respread();
}

void RematSequence::rollback() {
  for (; !journal.empty(); journal.pop_back()) {
    const Change &change = journal.back();
    if (change.kind == Change::Kind::put)
      take(change.slot);
    else if (change.kind == Change::Kind::taken)
      put(change.slot, change.node);
    else {
      slideRight(change.slot, change.node);
      workDone += change.work;
    }
  }
  if (crowded)
    respread();
}

} // namespace kedge::solver
