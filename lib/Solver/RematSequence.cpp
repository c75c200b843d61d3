#include "RematSequence.h"
#include <algorithm>

namespace kedge::solver {
namespace {

void insertSorted(std::vector<int> &list, int item) {
  list.insert(std::upper_bound(list.begin(), list.end(), item), item);
}

void eraseSorted(std::vector<int> &list, int item) {
  list.erase(std::lower_bound(list.begin(), list.end(), item));
}

void replaceSorted(std::vector<int> &list, int item, int by) {
  *std::lower_bound(list.begin(), list.end(), item) = by;
}

/// Largest item below `slot`, or -1.
int itemBefore(const std::vector<int> &list, int slot) {
  auto at = std::lower_bound(list.begin(), list.end(), slot);
  return at == list.begin() ? -1 : *(at - 1);
}

/// Smallest item above `slot`, or `none`.
int itemAfter(const std::vector<int> &list, int slot, int none) {
  auto at = std::upper_bound(list.begin(), list.end(), slot);
  return at == list.end() ? none : *at;
}

/// Slots that an insertion moves at most.
constexpr int longestShift = 64;

} // namespace

RematSequence::RematSequence(const RematModel &model, const std::vector<int> &sequence, int64_t budget)
    : model(model), budget(budget) {
  spread(sequence);
}

void RematSequence::reset(const std::vector<int> &sequence, int64_t newBudget) {
  budget = newBudget;
  spread(sequence);
}

std::vector<int> RematSequence::sequence() const {
  std::vector<int> result;
  for (int node : nodeAt)
    if (node >= 0)
      result.push_back(node);
  return result;
}

int64_t RematSequence::peak() const {
  int64_t result = 0;
  for (size_t block = 0; block < blockMost.size(); ++block)
    result = std::max(result, blockMost[block] + blockAdded[block]);
  return result;
}

RematSequence::Interval RematSequence::instanceBefore(int value, int slot) const {
  const ValueState &state = values[value];
  int first = itemBefore(state.makes, slot);
  if (first < 0)
    return {-1, -1};
  int next = itemAfter(state.makes, first, slots());
  return {first, std::max(first, itemBefore(state.reads, next))};
}

int RematSequence::nextRead(int value, int slot) const { return itemAfter(values[value].reads, slot, -1); }
int RematSequence::nextMake(int value, int slot) const {
  return itemAfter(values[value].makes, slot, slots());
}

int RematSequence::slotOverBudget(int from) const {
  int blocks = static_cast<int>(blockMost.size());
  for (int i = 0, block = from / blockSize; i < blocks; ++i, block = block + 1 == blocks ? 0 : block + 1)
    if (blockMost[block] + blockAdded[block] > budget)
      for (int slot = block * blockSize; slot < (block + 1) * blockSize; ++slot)
        if (bytes(slot) > budget)
          return slot;
  return -1;
}

void RematSequence::addBytesInBlock(int block, int first, int last, int64_t bytes) {
  int64_t &most = blockMost[block];
  int64_t before = over(most + blockAdded[block]);
  int64_t highest = load[first] + bytes;
  for (int slot = first; slot <= last; ++slot) {
    load[slot] += bytes;
    highest = std::max(highest, load[slot]);
  }
  if (bytes > 0)
    most = std::max(most, highest);
  else if (highest - bytes == most)
    most = *std::max_element(load.begin() + static_cast<std::ptrdiff_t>(block) * blockSize,
                             load.begin() + static_cast<std::ptrdiff_t>(block + 1) * blockSize);
  int64_t after = over(most + blockAdded[block]);
  totalExcess += after - before;
  overBlocks += (after > 0) - (before > 0);
}

void RematSequence::addBytes(int first, int last, int64_t bytes) {
  first = std::max(first, 1);
  if (first > last || bytes == 0)
    return;
  int firstBlock = first / blockSize, lastBlock = last / blockSize;
  workDone += 1 + (lastBlock - firstBlock) / 32;
  if (firstBlock == lastBlock)
    return addBytesInBlock(firstBlock, first, last, bytes);
  addBytesInBlock(firstBlock, first, (firstBlock + 1) * blockSize - 1, bytes);
  addBytesInBlock(lastBlock, lastBlock * blockSize, last, bytes);
  for (int block = firstBlock + 1; block < lastBlock; ++block) {
    int64_t before = over(blockMost[block] + blockAdded[block]);
    blockAdded[block] += bytes;
    int64_t after = over(blockMost[block] + blockAdded[block]);
    totalExcess += after - before;
    overBlocks += (after > 0) - (before > 0);
  }
}

void RematSequence::addMake(int value, int slot) {
  ValueState &state = values[value];
  int64_t bytes = model.problem.values[value].bytes;
  int next = itemAfter(state.makes, slot, slots());
  int before = itemBefore(state.makes, slot);
  int lastRead = itemBefore(state.reads, next);
  int end = std::max(slot, lastRead);
  if (before < 0) {
    orphans -= std::lower_bound(state.reads.begin(), state.reads.end(), next) -
               std::upper_bound(state.reads.begin(), state.reads.end(), slot);
    addBytes(slot, end, bytes);
  } else {
    int oldEnd = std::max(before, lastRead);
    int newOldEnd = std::max(before, itemBefore(state.reads, slot));
    // The old instance ends at its last read; the new one takes over what follows.
    if (oldEnd > slot)
      addBytes(newOldEnd + 1, slot - 1, -bytes);
    else
      addBytes(slot, slot, bytes);
    insertSorted(state.makes, slot);
    refreshReuse(newOldEnd);
    refreshReuse(end);
    return;
  }
  insertSorted(state.makes, slot);
  refreshReuse(end);
}

void RematSequence::removeMake(int value, int slot) {
  ValueState &state = values[value];
  int64_t bytes = model.problem.values[value].bytes;
  eraseSorted(state.makes, slot);
  int next = itemAfter(state.makes, slot, slots());
  int before = itemBefore(state.makes, slot);
  int lastRead = itemBefore(state.reads, next);
  int end = std::max(slot, lastRead);
  if (before < 0) {
    orphans += std::lower_bound(state.reads.begin(), state.reads.end(), next) -
               std::upper_bound(state.reads.begin(), state.reads.end(), slot);
    addBytes(slot, end, -bytes);
  } else {
    int newOldEnd = std::max(before, itemBefore(state.reads, slot));
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
  int first = itemBefore(state.makes, slot);
  if (first < 0) {
    ++orphans;
    insertSorted(state.reads, slot);
    return;
  }
  int end = std::max(first, itemBefore(state.reads, itemAfter(state.makes, slot, slots())));
  insertSorted(state.reads, slot);
  if (slot > end) {
    addBytes(end + 1, slot, model.problem.values[value].bytes);
    refreshReuse(end);
  }
}

void RematSequence::removeRead(int value, int slot) {
  ValueState &state = values[value];
  int first = itemBefore(state.makes, slot);
  eraseSorted(state.reads, slot);
  if (first < 0) {
    --orphans;
    return;
  }
  int end = std::max(first, itemBefore(state.reads, itemAfter(state.makes, slot, slots())));
  if (slot > end) {
    addBytes(end + 1, slot, -model.problem.values[value].bytes);
    refreshReuse(end);
  }
}

bool RematSequence::diesAt(int value, int slot) const {
  const ValueState &state = values[value];
  int next = itemAfter(state.reads, slot, slots());
  return itemBefore(state.makes, slot) >= 0 &&
         (next >= slots() || next > itemAfter(state.makes, slot, slots()));
}

int64_t RematSequence::savedAt(int slot) const {
  const RematNode &n = model.problem.nodes[nodeAt[slot]];
  int64_t saving = 0;
  uint64_t taken = 0, placed = 0;
  for (RematNode::Reuse reuse : n.reuses) {
    int64_t bytes = model.problem.values[n.outputs[reuse.output]].bytes;
    int value = n.inputs[reuse.input];
    uint64_t input = 1ull << (reuse.input & 63), output = 1ull << (reuse.output & 63);
    if ((taken & input) || (placed & output) || bytes > model.problem.values[value].bytes ||
        !diesAt(value, slot))
      continue;
    taken |= input;
    placed |= output;
    saving += bytes;
  }
  return saving;
}

void RematSequence::refreshReuse(int slot) {
  if (nodeAt[slot] < 0 || !model.mayReuse[nodeAt[slot]])
    return;
  int64_t saving = savedAt(slot);
  if (saving != saved[slot]) {
    addBytes(slot, slot, saved[slot] - saving);
    saved[slot] = saving;
  }
}

void RematSequence::noteRepeated(int node) {
  bool isRepeated = occurs[node].size() > 1 || (!model.problem.nodes[node].required && !occurs[node].empty());
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
  const RematNode &n = model.problem.nodes[node];
  nodeAt[slot] = node;
  insertSorted(occurs[node], slot);
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
  const RematNode &n = model.problem.nodes[node];
  addBytes(slot, slot, saved[slot] - n.workspace);
  saved[slot] = 0;
  nodeAt[slot] = -1;
  eraseSorted(occurs[node], slot);
  noteRepeated(node);
  totalCost -= n.cost;
  --steps;
  ++workDone;
  for (int value : n.inputs)
    removeRead(value, slot);
  for (int value : n.outputs)
    removeMake(value, slot);
}

/// A step moves to the empty slot beside its own. No other step is passed, so only these two slots change:
/// what is made begins in the one it moves to, and what is read for the last time ends there.
void RematSequence::slide(int from, int to) {
  int node = nodeAt[from];
  const RematNode &n = model.problem.nodes[node];
  int64_t whenLeft = n.workspace - saved[from], whenRight = whenLeft; // what the step adds to its slot
  auto endOf = [&](const ValueState &state) {
    return itemBefore(state.reads, itemAfter(state.makes, from, slots()));
  };
  for (int value : n.inputs) {
    ValueState &state = values[value];
    if (itemBefore(state.makes, from) >= 0 && endOf(state) == from)
      whenRight += model.problem.values[value].bytes;
    replaceSorted(state.reads, from, to);
  }
  for (int value : n.outputs) {
    ValueState &state = values[value];
    whenLeft += model.problem.values[value].bytes;
    if (endOf(state) < from)
      whenRight += model.problem.values[value].bytes;
    replaceSorted(state.makes, from, to);
  }
  replaceSorted(occurs[node], from, to);
  std::swap(nodeAt[from], nodeAt[to]);
  std::swap(saved[from], saved[to]);
  addBytes(from, from, to < from ? -whenRight : -whenLeft);
  addBytes(to, to, to < from ? whenLeft : whenRight);
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
    for (; empty < target; ++empty) {
      journal.push_back({empty, nodeAt[empty + 1], Change::Kind::slid});
      slide(empty + 1, empty);
    }
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
  const RematNode &n = model.problem.nodes[node];
  size_t times = occurs[node].size();
  if ((times == 0 && n.required) || (times > 1 && !n.repeatable))
    return false;
  int first = firstRun(node);
  for (int other : model.optionalAfter[node])
    if (firstRun(other) < first)
      return false;
  if (times == 0)
    return true;
  for (int other : model.runAfter[node])
    if (first < firstRun(other))
      return false;
  for (int other : n.overwrites)
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
    spread(sequence());
}

void RematSequence::rollback() {
  for (; !journal.empty(); journal.pop_back()) {
    const Change &change = journal.back();
    if (change.kind == Change::Kind::put)
      take(change.slot);
    else if (change.kind == Change::Kind::taken)
      put(change.slot, change.node);
    else
      slide(change.slot, change.slot + 1);
  }
  if (crowded)
    spread(sequence());
}

} // namespace kedge::solver
