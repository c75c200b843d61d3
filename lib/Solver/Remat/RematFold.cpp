#include "lib/Solver/Remat/RematFold.h"
#include "lib/Solver/Remat/RematDemand.h"
#include <algorithm>
#include <limits>

namespace kedge::solver {

std::optional<RematFold> RematFold::make(const RematModel &model, const RematLayers &layers, int layersLeft) {
  if (layers.regions.empty())
    return std::nullopt;
  int leftOut = layers.regions.front().blocks - layersLeft;
  if (leftOut < 1)
    return std::nullopt;
  RematFold fold(model, layers, leftOut);
  if (!fold.build())
    return std::nullopt;
  return fold;
}

RematFold::RematFold(const RematModel &model, const RematLayers &layers, int leftOut)
    : model(model), layers(layers), leftOut(leftOut), firstOut((layers.regions.front().blocks - leftOut) / 2),
      indexOf(model.nodeCount, -1), valueIndex(model.valueCount, -1) {}

bool RematFold::leavesOut(const RematPosition &at) const {
  if (at.region < 0)
    return false;
  int layer = layers.regions[at.region].layerOf(at.block);
  return layer >= firstOut && layer < firstOut + leftOut;
}

/// The node that takes the place of one left out: that of the layer next to the gap which lies on the other
/// side; -1 where there is none.
int RematFold::standIn(int node) const {
  const RematPosition &at = layers.positionOf[node];
  if (!leavesOut(at))
    return node;
  const RematRegion &region = layers.regions[at.region];
  int layer = region.layerOf(at.block);
  int other = layer - firstOut < leftOut / 2 ? layer + leftOut : layer - leftOut;
  int block = region.blockOf(other);
  if (block < 0 || block >= region.blocks || (other >= firstOut && other < firstOut + leftOut) ||
      at.position >= static_cast<int>(region.nodes[block].size()))
    return -1;
  return region.nodes[block][at.position];
}

/// -1 where the value is gone with its layer.
int RematFold::valueFor(int value) {
  int stands = value;
  if (!model.producers[value].empty()) {
    int producer = model.producers[value].front(), other = standIn(producer);
    if (other < 0)
      return -1;
    const std::vector<int> &made = model.problem.nodes[producer].outputs,
                           &there = model.problem.nodes[other].outputs;
    size_t output = std::find(made.begin(), made.end(), value) - made.begin();
    if (output >= there.size())
      return -1;
    stands = there[output];
  }
  if (valueIndex[stands] < 0) {
    valueIndex[stands] = static_cast<int>(folded.values.size());
    folded.values.push_back(model.problem.values[stands]);
  }
  return valueIndex[stands];
}

bool RematFold::addNode(int node) {
  RematNode made = model.problem.nodes[node];
  bool lost = false;
  for (std::vector<int> *list : {&made.inputs, &made.outputs}) {
    std::vector<int> values;
    for (int value : *list) {
      int at = valueFor(value);
      lost |= at < 0 || std::find(values.begin(), values.end(), at) != values.end();
      if (at >= 0 && std::find(values.begin(), values.end(), at) == values.end())
        values.push_back(at);
    }
    *list = values;
  }
  if (lost)
    made.reuses.clear();
  std::vector<int> overwritten;
  for (int other : made.overwrites)
    if (indexOf[other] >= 0)
      overwritten.push_back(indexOf[other]);
  made.overwrites = overwritten;
  folded.nodes.push_back(made);
  return !lost || layers.positionOf[node].region < 0;
}

bool RematFold::build() {
  for (int node = 0; node < model.nodeCount; ++node)
    if (!leavesOut(layers.positionOf[node])) {
      indexOf[node] = static_cast<int>(original.size());
      original.push_back(node);
    }
  for (int node : original)
    if (!addNode(node))
      return false;
  for (int node : model.problem.order)
    if (indexOf[node] >= 0)
      folded.order.push_back(indexOf[node]);
  return peakOf(folded, folded.order) >= 0;
}

/// The layer of the fold that stands for one of the whole, in the numbers of the whole.
int RematFold::foldedLayer(int layer) const {
  int all = layers.regions.front().blocks, left = all - leftOut;
  if (layer < 0 || layer >= all)
    return layer;
  int at = static_cast<int>(static_cast<int64_t>(layer) * left / all);
  if (mapping == LayerMapping::inTurn)
    at = layer == 0 ? 0 : layer == all - 1 ? left - 1 : left - 2 - (all - 2 - layer) % (left - 2);
  return at < firstOut ? at : at + leftOut;
}

/// The node of the whole graph with the same role in `layer` as `node` has in `stands`; -1 where there is
/// none.
int RematFold::counterpart(int node, int stands, int layer) const {
  const RematPosition &at = layers.positionOf[node];
  const RematRegion &region = layers.regions[at.region];
  // Distances are those of the fold, in which the gap is closed.
  auto closed = [&](int at) { return at < firstOut ? at : at - leftOut; };
  int distance = closed(region.layerOf(at.block)) - closed(stands);
  int block = region.blockOf(layer + distance);
  if (block < 0 || block >= region.blocks || at.position >= static_cast<int>(region.nodes[block].size()))
    return -1;
  return region.nodes[block][at.position];
}

namespace {

/// Takes steps, and makes what they need where nobody made it, or nobody lately.
class Completion {
public:
  Completion(const RematModel &model, const std::vector<int> &patience)
      : model(model), patience(patience), touched(model.valueCount, -1), ran(model.nodeCount) {}

  void run(int node, int depth = 0) {
    if (ran[node] && !model.problem.nodes[node].repeatable)
      return;
    for (int first : model.runAfter[node])
      if (!ran[first] && depth < deepest)
        run(first, depth + 1);
    for (int value : model.problem.nodes[node].inputs) {
      if (!there(value) && !model.producers[value].empty() && depth < deepest)
        run(model.producers[value].front(), depth + 1);
      touched[value] = static_cast<int>(sequence.size());
    }
    for (int value : model.problem.nodes[node].outputs)
      touched[value] = static_cast<int>(sequence.size());
    ran[node] = true;
    sequence.push_back(node);
  }

  std::vector<int> finish() {
    for (int node : model.problem.order)
      if (!ran[node])
        run(node);
    return std::move(sequence);
  }

private:
  static constexpr int deepest = 20000;

  bool there(int value) const {
    if (model.problem.values[value].given)
      return true;
    return touched[value] >= 0 && static_cast<int>(sequence.size()) - touched[value] <= patience[value];
  }

  const RematModel &model;
  const std::vector<int> &patience;
  std::vector<int> touched;
  std::vector<char> ran;
  std::vector<int> sequence;
};

} // namespace

/// Steps from the first run of a block's first node to that of the next one belong to that block; what runs
/// between regions belongs to none.
std::vector<RematFold::Segment> RematFold::cutAtBlocks(const std::vector<int> &sequence) const {
  std::vector<Segment> segments(1);
  std::vector<char> ran(folded.nodes.size());
  for (int step : sequence) {
    const RematPosition &at = layers.positionOf[original[step]];
    bool isNew = !ran[step];
    ran[step] = true;
    const Segment &last = segments.back();
    if (isNew && at.region >= 0 && at.position == 0)
      segments.push_back({at.region, at.block, {}});
    else if (isNew && at.region < 0 && last.region >= 0 &&
             last.block + 1 == layers.regions[last.region].blocks)
      segments.emplace_back();
    segments.back().nodes.push_back(original[step]);
  }
  return segments;
}

/// Steps for which each value of the whole may lie unread: for ever where the fold makes it once, else about
/// as long as there. Without that, what one layer does for the next would be missing where a layer that does
/// it is next to one that does not, and values would be held from the first to the last layer.
std::vector<int> RematFold::patienceOf(const std::vector<int> &sequence) const {
  std::vector<int> touched(folded.values.size(), -1), longest(folded.values.size()),
      runs(folded.nodes.size());
  for (int step = 0; step < static_cast<int>(sequence.size()); ++step) {
    const RematNode &n = folded.nodes[sequence[step]];
    ++runs[sequence[step]];
    for (int value : n.inputs) {
      if (touched[value] >= 0)
        longest[value] = std::max(longest[value], step - touched[value]);
      touched[value] = step;
    }
    for (int value : n.outputs)
      touched[value] = step;
  }
  std::vector<int> result(model.valueCount, std::numeric_limits<int>::max());
  for (int node = 0; node < model.nodeCount; ++node) {
    int stands = indexOf[sameInFold(node)];
    if (stands < 0 || runs[stands] < 2 ||
        folded.nodes[stands].outputs.size() != model.problem.nodes[node].outputs.size())
      continue;
    for (size_t i = 0; i < folded.nodes[stands].outputs.size(); ++i)
      result[model.problem.nodes[node].outputs[i]] = 4 + 2 * longest[folded.nodes[stands].outputs[i]];
  }
  return result;
}

/// The node of the fold (in the numbers of the whole) that stands for a node.
int RematFold::sameInFold(int node) const {
  const RematPosition &at = layers.positionOf[node];
  if (at.region < 0)
    return node;
  const RematRegion &region = layers.regions[at.region];
  int block = region.blockOf(foldedLayer(region.layerOf(at.block)));
  bool exists =
      block >= 0 && block < region.blocks && at.position < static_cast<int>(region.nodes[block].size());
  return exists ? region.nodes[block][at.position] : node;
}

std::vector<int> RematFold::unfold(const std::vector<int> &sequence, LayerMapping how, bool patient) {
  mapping = how;
  std::vector<int> patience =
      patient ? std::vector<int>(model.valueCount, std::numeric_limits<int>::max()) : patienceOf(sequence);
  Completion whole(model, patience);
  std::vector<Segment> segments = cutAtBlocks(sequence);
  std::vector<char> begun(layers.regions.size());
  for (const Segment &segment : segments) {
    if (segment.region < 0)
      for (int node : segment.nodes)
        whole.run(node);
    else if (!begun[segment.region])
      unfoldRegion(segments, segment.region, [&](int node) { whole.run(node); });
    if (segment.region >= 0)
      begun[segment.region] = true;
  }
  return postponeOverwrites(model, whole.finish());
}

void RematFold::unfoldRegion(const std::vector<Segment> &segments, int index,
                             const std::function<void(int)> &run) const {
  const RematRegion &region = layers.regions[index];
  std::vector<const Segment *> segmentOf(region.blocks);
  std::vector<int> lastOf(region.blocks, -1); // block of the whole that a block of the fold stands for
  for (const Segment &segment : segments)
    if (segment.region == index)
      segmentOf[segment.block] = &segment;
  auto standsFor = [&](int block) { return region.blockOf(foldedLayer(region.layerOf(block))); };
  for (int block = 0; block < region.blocks; ++block)
    if (int stands = standsFor(block); stands >= 0 && stands < region.blocks)
      lastOf[stands] = block;
  for (int block = 0; block < region.blocks; ++block) {
    int stands = standsFor(block);
    if (stands < 0 || stands >= region.blocks || !segmentOf[stands])
      continue;
    for (int node : segmentOf[stands]->nodes) {
      bool outside = layers.positionOf[node].region < 0;
      int other = !outside                  ? counterpart(node, region.layerOf(stands), region.layerOf(block))
                  : lastOf[stands] == block ? node
                                            : -1;
      if (other >= 0)
        run(other);
    }
  }
}

} // namespace kedge::solver
