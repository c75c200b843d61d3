#include "lib/Lint/Noise.h"
#include "lib/Lint/Reach.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

namespace {
constexpr int64_t mostElements = 1 << 16; // of a constant that is looked at

std::optional<double> singleOf(const Tensor &tensor) {
  if (tensor.numElements() == 0 || tensor.numElements() > mostElements ||
      tensor.dtype == model::ElementType::String)
    return std::nullopt;
  std::vector<double> values;
  if (model::isFloat(tensor.dtype))
    values = tensor.floats();
  else
    for (int64_t value : tensor.ints())
      values.push_back(static_cast<double>(value));
  const bool alike =
      std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
  return alike ? std::optional(values[0]) : std::nullopt;
}

bool movesOrRetypes(const Node &node) {
  static const std::set<std::string> ops = {"Identity", "Cast",      "CastLike", "Reshape",
                                            "Squeeze",  "Unsqueeze", "Expand",   "Flatten"};
  return node.domain.empty() && ops.count(node.opType) != 0;
}
} // namespace

std::set<std::string> liveValues(const Graph &graph) {
  std::set<std::string> live;
  for (const model::ValueInfo &output : graph.outputs)
    live.insert(output.name);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](const std::string &name) { return live.count(name); }))
      for (const std::string &name : readsOf(*node))
        live.insert(name);
  return live;
}

bool drawsAlways(const Node &node) {
  static const std::set<std::string> ops = {"RandomUniform",    "RandomUniformLike", "RandomNormal",
                                            "RandomNormalLike", "Bernoulli",         "Multinomial"};
  return node.domain.empty() && ops.count(node.opType) != 0;
}

Flow::Flow(const Graph &graph) : graph(graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = graph.nodes[n];
    for (const std::string &output : node.outputs)
      if (!output.empty())
        producers[output] = n;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.hasInput(k))
        reads.emplace(node.inputs[k], std::pair(n, k));
  }
}

std::optional<size_t> Flow::producer(const std::string &value) const {
  auto found = producers.find(value);
  return found == producers.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::pair<size_t, size_t>> Flow::readers(const std::string &value) const {
  std::vector<std::pair<size_t, size_t>> found;
  for (auto [at, end] = reads.equal_range(value); at != end; ++at)
    found.push_back(at->second);
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<double> Flow::stored(const std::string &value) const {
  if (const Tensor *tensor = graph.findInitializer(value))
    return graph.findInput(value) ? std::nullopt : singleOf(*tensor);
  std::optional<size_t> made = producer(value);
  if (!made)
    return std::nullopt;
  const Node &node = graph.nodes[*made];
  if (node.is("Constant"))
    return singleOf(model::constantValue(node));
  if (!node.is("ConstantOfShape"))
    return std::nullopt;
  const Tensor *fill = node.attrTensorIf("value");
  return fill ? singleOf(*fill) : std::optional(0.0);
}

std::optional<double> Flow::constant(const std::string &value) const {
  std::string name = value;
  while (std::optional<size_t> made = producer(name)) {
    if (!movesOrRetypes(graph.nodes[*made]))
      break;
    name = graph.nodes[*made].input(0);
  }
  return stored(name);
}

bool Flow::isFixed(const std::string &value) const {
  std::set<std::string> seen;
  std::vector<std::string> open{value};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!seen.insert(name).second || graph.findInitializer(name))
      continue;
    std::optional<size_t> made = producer(name);
    if (!made || drawsAlways(graph.nodes[*made]))
      return false;
    if (graph.nodes[*made].is("Shape") || graph.nodes[*made].is("Size"))
      continue;
    for (const std::string &input : readsOf(graph.nodes[*made]))
      open.push_back(input);
  }
  return true;
}

Noise findNoise(const Graph &graph) {
  Noise noise;
  std::map<uint64_t, size_t> places; // bodies of functions that several nodes call share theirs
  for (const Node &node : graph.nodes)
    ++places[node.place];
  std::optional<std::set<std::string>> live;
  std::optional<Flow> flow;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!drawsAlways(graph.nodes[n]))
      continue;
    if (!live) {
      live = liveValues(graph);
      flow.emplace(graph);
    }
    if (!live->count(graph.nodes[n].output(0)))
      continue;
    std::vector<NoiseSwitch> found;
    if (std::optional<std::vector<NoiseSwitch>> masks = switchesOfMask(*flow, n))
      found = std::move(*masks);
    else if (std::optional<NoiseSwitch> module = switchOfModule(*flow, n))
      found.push_back(std::move(*module));
    const bool isShared = std::any_of(found.begin(), found.end(), [&](const NoiseSwitch &one) {
      const uint64_t place = graph.nodes[one.node].place;
      return place != 0 && places[place] > 1;
    });
    if (found.empty() || isShared)
      noise.others.push_back(n);
    for (NoiseSwitch &one : isShared ? std::vector<NoiseSwitch>() : found) {
      auto known = std::find_if(noise.switches.begin(), noise.switches.end(),
                                [&](const NoiseSwitch &other) { return other.result == one.result; });
      if (known == noise.switches.end())
        noise.switches.push_back(std::move(one));
      else
        known->draws.push_back(n);
    }
  }
  return noise;
}

} // namespace kedge::lint
