// A sequence laid out anew, with room between its steps, and steps that slide: the order stays as it is.
#include "lib/Solver/Remat/RematSequence.h"
#include <algorithm>

namespace kedge::solver {

namespace {

/// As many slots as `count` steps lie well in.
int roomFor(int count) {
  constexpr int blockSize = RematSequence::blockSize;
  return (2 * count + 48 + blockSize - 1) / blockSize * blockSize;
}

/// The slots of the steps, one after the other: slot 1 and on, 1 + i * (size - 2) / count without divisions.
class Positions {
public:
  Positions(int count, int size)
      : count(std::max(count, 1)), each((size - 2) / this->count), rest((size - 2) % this->count) {}
  int next() {
    int result = slot;
    slot += each;
    if ((left += rest) >= count) {
      left -= count;
      ++slot;
    }
    return result;
  }

private:
  int count, each, rest, slot = 1, left = 0;
};

} // namespace

void RematSequence::distribute(const std::vector<int> &sequence) {
  int count = static_cast<int>(sequence.size()), size = roomFor(count);
  clear(size);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].given)
      values[value].makes.append(0);
  Positions positions(count, size);
  for (int node : sequence)
    append(positions.next(), node);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].keptToEnd) {
      orphans += values[value].makes.empty();
      values[value].reads.append(size - 1);
    }
  sumBytes();
  workDone += count;
}

/// What a step adds to what lives before it.
int64_t RematSequence::addedBy(int slot) const {
  const RematStep &step = model.steps[nodeAt[slot]];
  return step.workspace - saved[slot] + step.made;
}

/// The steps at hand with the room of `spread`. Their bytes stay; those between two steps are what the second
/// one finds.
void RematSequence::respread() {
  settle();
  int before = slots(), size = roomFor(steps), last = 0;
  newSlot.resize(before);
  bytesBefore.assign(size, 0);
  savedBefore.assign(size, 0);
  nodesBefore.assign(size, -1);
  totalCost = 0;
  Positions positions(steps, size);
  for (int slot = 1; slot < before; ++slot) {
    if (nodeAt[slot] < 0)
      continue;
    int at = newSlot[slot] = positions.next();
    std::fill(bytesBefore.begin() + last + 1, bytesBefore.begin() + at, bytes(slot) - addedBy(slot));
    bytesBefore[at] = bytes(slot);
    savedBefore[at] = saved[slot];
    nodesBefore[at] = nodeAt[slot];
    totalCost += model.steps[nodeAt[slot]].cost;
    last = at;
  }
  std::fill(bytesBefore.begin() + last + 1, bytesBefore.end(), bytes(before - 1));
  newSlot[0] = 0;
  newSlot[before - 1] = size - 1;
  load.swap(bytesBefore);
  saved.swap(savedBefore);
  nodeAt.swap(nodesBefore);
  mapSlots();
  block.assign(size / blockSize, Block());
  totalExcess = 0;
  refreshBlocks(0, size - 1);
  crowded = false;
  workDone += steps;
}

void RematSequence::mapSlots() {
  for (ValueState &state : values) {
    state.makes.map(newSlot.data());
    state.reads.map(newSlot.data());
  }
  for (SlotList &slots : occurs)
    slots.map(newSlot.data());
  noteAllRepeated();
}

/// In the order in which they run a second time.
void RematSequence::noteAllRepeated() {
  std::vector<std::pair<int, int>> found;
  for (int node : repeated)
    found.push_back({occurs[node][model.steps[node].required], node});
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i < found.size(); ++i) {
    repeated[i] = found[i].second;
    repeatedPlace[found[i].second] = static_cast<int>(i);
  }
}

/// The steps behind the empty slot `to`, up to `last`, each move one slot to the left. They pass no other
/// step: the bytes of each stay the same, and those of the slot that becomes empty are what the next step
/// finds. Returns the work that this is as a row of single steps.
int RematSequence::slideLeft(int to, int last) {
  settle();
  int64_t behind = nodeAt[last + 1] < 0 ? bytes(last + 1) : bytes(last + 1) - addedBy(last + 1);
  int64_t after = behind;
  int work = 0;
  for (int slot = last; slot > to; --slot) {
    int64_t added = addedBy(slot);
    work += (added != 0) + (bytes(slot) != after);
    after = bytes(slot) - added;
  }
  for (int slot = to; slot < last; ++slot) {
    renameSlot(slot + 1, slot);
    load[slot] = bytes(slot + 1) - block[slot / blockSize].added;
    saved[slot] = saved[slot + 1];
    nodeAt[slot] = nodeAt[slot + 1];
  }
  load[last] = behind - block[last / blockSize].added;
  saved[last] = 0;
  nodeAt[last] = -1;
  if (to / blockSize != last / blockSize) // else what is highest stays
    refreshBlocks(to, last);
  return work;
}

/// The way back.
void RematSequence::slideRight(int to, int last) {
  settle();
  int64_t before = bytes(to) - addedBy(to);
  for (int slot = last; slot > to; --slot) {
    renameSlot(slot - 1, slot);
    load[slot] = bytes(slot - 1) - block[slot / blockSize].added;
    saved[slot] = saved[slot - 1];
    nodeAt[slot] = nodeAt[slot - 1];
  }
  load[to] = before - block[to / blockSize].added;
  saved[to] = 0;
  nodeAt[to] = -1;
  if (to / blockSize != last / blockSize)
    refreshBlocks(to, last);
}

/// In all lists; no other step lies between the two slots.
void RematSequence::renameSlot(int slot, int by) {
  const RematStep &step = model.steps[nodeAt[slot]];
  for (int value : step.inputs)
    values[value].reads.replace(slot, by);
  for (int value : step.outputs)
    values[value].makes.replace(slot, by);
  occurs[nodeAt[slot]].replace(slot, by);
}

void RematSequence::refreshBlocks(int first, int last) {
  for (int index = first / blockSize; index <= last / blockSize; ++index)
    setTop(block[index], highest(index));
}

/// Lists keep their room: this is called often.
void RematSequence::clear(int size) {
  nodeAt.assign(size, -1);
  values.resize(model.valueCount);
  for (ValueState &state : values) {
    state.makes.clear();
    state.reads.clear();
  }
  occurs.resize(model.nodeCount);
  for (SlotList &slots : occurs)
    slots.clear();
  repeated.clear();
  repeatedPlace.assign(model.nodeCount, -1);
  saved.assign(size, 0);
  block.assign(size / blockSize, Block());
  totalCost = 0;
  totalExcess = orphans = steps = 0;
  pending.clear();
  crowded = false;
}

/// A step behind all others; its bytes are left to sumBytes.
void RematSequence::append(int slot, int node) {
  const RematStep &n = model.steps[node];
  nodeAt[slot] = node;
  occurs[node].append(slot);
  noteRepeated(node);
  totalCost += n.cost;
  ++steps;
  for (int value : n.inputs) {
    orphans += values[value].makes.empty();
    values[value].reads.append(slot);
  }
  for (int value : n.outputs)
    values[value].makes.append(slot);
}

void RematSequence::sumBytes() {
  load.assign(slots() + 1, 0); // changes from slot to slot, at first
  for (int value = 0; value < model.valueCount; ++value) {
    const ValueState &state = values[value];
    size_t read = 0;
    for (size_t i = 0; i < state.makes.size(); ++i) {
      int next = i + 1 < state.makes.size() ? state.makes[i + 1] : slots(), end = state.makes[i];
      for (; read < state.reads.size() && state.reads[read] < next; ++read)
        end = std::max(end, state.reads[read]);
      load[state.makes[i]] += model.bytes[value];
      load[end + 1] -= model.bytes[value];
    }
  }
  load.pop_back();
  int64_t held = 0;
  for (int slot = 0; slot < slots(); ++slot) {
    held += load[slot];
    load[slot] = slot > 0 ? held : 0;
    if (nodeAt[slot] >= 0) {
      saved[slot] = savedAt(slot);
      load[slot] += model.steps[nodeAt[slot]].workspace - saved[slot];
    }
  }
  refreshBlocks(0, slots() - 1);
}

} // namespace kedge::solver
