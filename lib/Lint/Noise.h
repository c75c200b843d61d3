// Random numbers that are no Dropout node's, and what stands for them outside of training.
#pragma once
#include "lib/Model/Model.h"
#include <functional>
#include <optional>
#include <set>

namespace kedge::lint {

/// Random numbers that change `data` into `result` in training, and leave `data` as it is in eval().
struct NoiseSwitch {
  std::vector<size_t> draws; // nodes that draw the numbers
  size_t node = 0;           // makes `result`
  std::string result, data;
};

struct Noise {
  std::vector<NoiseSwitch> switches;
  std::vector<size_t> others; // draws that nothing shows how to switch off
};

/// Results become the choice of an own operator: drawn in training, `data` elsewhere.
void chooseByMode(model::Model &, const Noise &);
/// Who read a result reads its `data`; what fed nothing else is gone.
void switchOff(model::Model &, const Noise &);

/// Operators that draw in every mode.
bool drawsAlways(const model::Node &);

/// Values that an output of the graph depends on.
std::set<std::string> liveValues(const model::Graph &);

/// Draws of the main graph that an output depends on.
Noise findNoise(const model::Graph &);

/// Who makes and who reads each value of the main graph, and constants through what moves or retypes them.
class Flow {
public:
  explicit Flow(const model::Graph &);
  const model::Graph &graph;
  std::optional<size_t> producer(const std::string &value) const;
  /// Nodes, once for each operand.
  std::vector<std::pair<size_t, size_t>> readers(const std::string &value) const;
  bool isOutput(const std::string &value) const { return graph.findOutput(value) != nullptr; }
  /// The number that all elements of a value are.
  std::optional<double> constant(const std::string &value) const;
  /// Follows from initializers and constants alone.
  bool isFixed(const std::string &value) const;

private:
  std::optional<double> stored(const std::string &value) const;
  std::map<std::string, size_t> producers;
  std::multimap<std::string, std::pair<size_t, size_t>> reads;
};

/// By structure: a mask with the probability `keep` whose arithmetic gives data times 1 on average (inverted
/// dropout), or keeps mean and variance (alpha dropout).
std::optional<std::vector<NoiseSwitch>> switchesOfMask(const Flow &, size_t draw);
/// By name: the innermost module around the draw that is called a dropout, drop path or stochastic depth.
std::optional<NoiseSwitch> switchOfModule(const Flow &, size_t draw);

} // namespace kedge::lint
