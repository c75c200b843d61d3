// A sequence laid out anew, with room between its steps: all at once instead of one change for each step.
#include "RematSequence.h"
#include <algorithm>

namespace kedge::solver {

void RematSequence::spread(const std::vector<int> &sequence) {
  int count = static_cast<int>(sequence.size());
  int size = (2 * count + 48 + blockSize - 1) / blockSize * blockSize;
  clear(size);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].given)
      values[value].makes.push_back(0);
  for (int i = 0; i < count; ++i)
    append(1 + static_cast<int>(static_cast<int64_t>(i) * (size - 2) / std::max(count, 1)), sequence[i]);
  for (int value = 0; value < model.valueCount; ++value)
    if (model.problem.values[value].keptToEnd) {
      orphans += values[value].makes.empty();
      values[value].reads.push_back(size - 1);
    }
  sumBytes();
  workDone += count;
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
  for (std::vector<int> &slots : occurs)
    slots.clear();
  repeated.clear();
  repeatedPlace.assign(model.nodeCount, -1);
  saved.assign(size, 0);
  blockAdded.assign(size / blockSize, 0);
  blockMost.assign(size / blockSize, 0);
  totalCost = 0;
  totalExcess = orphans = overBlocks = steps = 0;
  crowded = false;
}

/// A step behind all others; its bytes are left to sumBytes.
void RematSequence::append(int slot, int node) {
  const RematNode &n = model.problem.nodes[node];
  nodeAt[slot] = node;
  occurs[node].push_back(slot);
  noteRepeated(node);
  totalCost += n.cost;
  ++steps;
  for (int value : n.inputs) {
    orphans += values[value].makes.empty();
    values[value].reads.push_back(slot);
  }
  for (int value : n.outputs)
    values[value].makes.push_back(slot);
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
      load[state.makes[i]] += model.problem.values[value].bytes;
      load[end + 1] -= model.problem.values[value].bytes;
    }
  }
  load.pop_back();
  int64_t held = 0;
  for (int slot = 0; slot < slots(); ++slot) {
    held += load[slot];
    load[slot] = slot > 0 ? held : 0;
    if (nodeAt[slot] >= 0) {
      saved[slot] = savedAt(slot);
      load[slot] += model.problem.nodes[nodeAt[slot]].workspace - saved[slot];
    }
  }
  for (size_t block = 0; block < blockMost.size(); ++block) {
    auto begin = load.begin() + static_cast<std::ptrdiff_t>(block * blockSize);
    blockMost[block] = *std::max_element(begin, begin + blockSize);
    totalExcess += over(blockMost[block]);
    overBlocks += over(blockMost[block]) > 0;
  }
}

} // namespace kedge::solver
