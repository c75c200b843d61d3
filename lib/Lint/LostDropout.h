// Dropout of PyTorch's scaled_dot_product_attention, which both exporters of torch lose: they write it turned
// off, or not at all. PyTorch applies it in every mode; who calls it gives a probability of 0 in evaluation
// mode.
#pragma once
#include "lib/Model/Model.h"
#include <set>

namespace kedge::lint {

/// A product of probabilities and values without the Dropout of its call.
struct MissingDropout {
  size_t probabilities = 0; ///< node of the graph: the Softmax
  size_t product = 0;       ///< node of the graph
  float ratio = 0;
};

class LostDropout {
public:
  explicit LostDropout(const model::Graph &);
  /// Whether the Dropout was applied when the file was exported, whatever the node says.
  bool isOn(const model::Node &) const;
  /// In the order of the graph.
  const std::vector<MissingDropout> &missing() const { return lost; }
  bool any() const { return !outputs.empty() || !lost.empty(); }

private:
  std::set<std::string> outputs; ///< of each Dropout that was applied
  std::vector<MissingDropout> lost;
};

} // namespace kedge::lint
