#include "lib/Solver/Remat/RematLayers.h"
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

namespace kedge::solver {
namespace {

constexpr int mostRegions = 4;

class Signature {
public:
  void add(uint64_t word) {
    state = (state ^ word) * 0x9E3779B97F4A7C15ull;
    state ^= state >> 29;
  }
  uint64_t state = 0x2545F4914F6CDD1Dull;
};

class LayerFinder {
public:
  LayerFinder(const RematModel &model, int fewest)
      : model(model), order(model.problem.order), fewest(fewest), taken(order.size()) {
    for (int node : order)
      signatures.push_back(signatureOf(node));
  }

  RematLayers find() {
    std::vector<RematRegion> found;
    while (static_cast<int>(found.size()) < mostRegions) {
      found.push_back(longest());
      if (found.back().blocks < fewest)
        break;
      std::fill_n(taken.begin() + found.back().begin, found.back().period * found.back().blocks, true);
    }
    found.pop_back();
    std::sort(found.begin(), found.end(),
              [](const RematRegion &a, const RematRegion &b) { return a.begin < b.begin; });
    layers.positionOf.resize(model.nodeCount);
    for (RematRegion &region : found)
      fill(std::move(region));
    addOptional();
    return std::move(layers);
  }

private:
  uint64_t signatureOf(int node) const {
    const RematNode &n = model.problem.nodes[node];
    Signature signature;
    signature.add(std::bit_cast<uint64_t>(n.cost));
    signature.add(n.workspace);
    signature.add(n.repeatable);
    for (const std::vector<int> *list : {&n.inputs, &n.outputs}) {
      signature.add(list->size());
      for (int value : *list) {
        const RematValue &v = model.problem.values[value];
        signature.add(v.bytes * 4 + v.given * 2 + v.keptToEnd);
      }
    }
    return signature.state;
  }

  /// Of what is not taken: a shorter period is preferred to a longer one that covers hardly more.
  RematRegion longest() const {
    int steps = static_cast<int>(order.size());
    RematRegion best;
    for (int period = 2; period * fewest <= steps; ++period)
      for (int begin = 0, step = 0; step <= steps - period; ++step) {
        bool alike = step + period < steps && signatures[step] == signatures[step + period] && !taken[step] &&
                     !taken[step + period];
        if (alike)
          continue;
        int blocks = step == begin ? 0 : 1 + (step - begin) / period;
        if (blocks >= fewest && period * blocks * 20 > best.period * best.blocks * 21)
          best = RematRegion{.begin = begin, .period = period, .blocks = blocks, .nodes = {}};
        begin = step + 1;
      }
    return best;
  }

  /// Where a few steps are alike already, as updates of parameters of one shape are: about as many blocks as
  /// layers.
  void fit(RematRegion &region) const {
    int count = layers.regions.front().blocks, steps = region.period * region.blocks;
    int period = (steps + count / 2) / count;
    if (period < 2 || steps % period || std::abs(steps / period - count) > 1)
      return;
    auto first = signatures.begin() + region.begin;
    if (std::equal(first, first + steps - period, first + period)) {
      region.period = period;
      region.blocks = steps / period;
    }
  }

  void fill(RematRegion region) {
    if (!layers.regions.empty())
      fit(region);
    for (int block = 0; block < region.blocks; ++block) {
      auto first = order.begin() + region.begin + block * region.period;
      region.nodes.emplace_back(first, first + region.period);
    }
    if (!layers.regions.empty() && !align(region))
      return;
    int index = static_cast<int>(layers.regions.size());
    for (int block = 0; block < region.blocks; ++block)
      for (int position = 0; position < region.period; ++position)
        layers.positionOf[region.nodes[block][position]] = {index, block, position};
    layers.regions.push_back(std::move(region));
  }

  void addOptional() {
    for (int node = 0; node < model.nodeCount; ++node) {
      const RematNode &n = model.problem.nodes[node];
      if (n.required || n.outputs.empty())
        continue;
      RematPosition at = layers.positionOf[model.producers[n.outputs.front()].front()];
      if (at.region < 0 || !model.problem.nodes[model.producers[n.outputs.front()].front()].required)
        continue;
      std::vector<int> &nodes = layers.regions[at.region].nodes[at.block];
      layers.positionOf[node] = {at.region, at.block, static_cast<int>(nodes.size())};
      nodes.push_back(node);
    }
  }

  /// Which layer a block belongs to follows from what it reads of the regions before: gradients read forward
  /// values, updates read gradients. False where most blocks have no layer of their own, as chunks of logits
  /// that all read the last one.
  bool align(RematRegion &region) const {
    std::map<int, int> sums, differences; // how many blocks agree
    for (int block = 0; block < region.blocks; ++block)
      for (int layer : layersRead(region.nodes[block])) {
        ++sums[layer + block];
        ++differences[layer - block];
      }
    auto most = [](const std::map<int, int> &counts) {
      return std::max_element(counts.begin(), counts.end(),
                              [](const auto &a, const auto &b) { return a.second < b.second; });
    };
    if (sums.empty())
      return false;
    region.backwards = most(sums)->second > most(differences)->second;
    auto [origin, blocks] = region.backwards ? *most(sums) : *most(differences);
    region.origin = origin;
    return 2 * blocks > region.blocks;
  }

  std::set<int> layersRead(const std::vector<int> &nodes) const {
    std::set<int> result;
    for (int node : nodes)
      for (int value : model.problem.nodes[node].inputs)
        if (RematPosition at = producerOf(value); at.region >= 0)
          result.insert(layers.regions[at.region].layerOf(at.block));
    return result;
  }

  RematPosition producerOf(int value) const {
    return model.producers[value].empty() ? RematPosition()
                                          : layers.positionOf[model.producers[value].front()];
  }

  const RematModel &model;
  const std::vector<int> &order;
  int fewest;
  std::vector<char> taken;
  std::vector<uint64_t> signatures;
  RematLayers layers;
};

} // namespace

RematLayers findLayers(const RematModel &model, int fewest) { return LayerFinder(model, fewest).find(); }

} // namespace kedge::solver
