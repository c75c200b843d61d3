// Operators of com.microsoft, and those that onnxruntime has in the default domain, as operators of ONNX.
#include "lib/Model/Microsoft/Parts.h"
#include "lib/Model/Specialize.h"

namespace kedge::model {
namespace {

constexpr std::string_view kMicrosoftDomain = "com.microsoft";

const LoweringTable &loweringTable() {
  static const LoweringTable all = [] {
    LoweringTable made;
    addActivations(made);
    addAttentions(made);
    addExperts(made);
    addMovements(made);
    addNorms(made);
    addProducts(made);
    addQuantised(made);
    return made;
  }();
  return all;
}

/// The nodes in the place of one; none where its form is not known, which the node then says.
std::vector<Node> lowered(Node &node, Surroundings &around) {
  const NodeLowering lowering = loweringOf(node);
  if (!lowering)
    return {};
  Parts parts(node, around);
  try {
    lowering(parts);
  } catch (const NotLowered &refused) {
    node.metadata[whyKey] = refused.why;
    return {};
  }
  return std::move(parts.nodes);
}

} // namespace

NodeLowering loweringOf(const Node &node) {
  const bool isOwn = node.domain == kMicrosoftDomain;
  if (!isOwn && !(node.domain.empty() && node.opType == "SimplifiedLayerNormalization"))
    return nullptr;
  const auto found = loweringTable().find(node.opType);
  return found == loweringTable().end() ? nullptr : found->second;
}

void lowerMicrosoft(Model &model) {
  Surroundings around(model);
  std::vector<std::vector<Node>> parts;
  parts.reserve(model.graph.nodes.size());
  bool any = false;
  for (Node &node : model.graph.nodes) {
    parts.push_back(lowered(node, around));
    any |= !parts.back().empty();
  }
  if (!any)
    return;
  std::vector<Node> result;
  for (size_t n = 0; n < parts.size(); ++n)
    if (parts[n].empty())
      result.push_back(std::move(model.graph.nodes[n]));
    else {
      model.lowered.push_back(std::move(model.graph.nodes[n]));
      result.insert(result.end(), std::make_move_iterator(parts[n].begin()),
                    std::make_move_iterator(parts[n].end()));
    }
  model.graph.nodes = std::move(result);
  for (Tensor &tensor : model.graph.initializers)
    if (auto other = around.readAs.find(tensor.name); other != around.readAs.end())
      tensor = std::move(other->second);
  for (Tensor &tensor : around.made)
    model.graph.initializers.push_back(std::move(tensor));
}

} // namespace kedge::model
