// Constants of the model's text, torch.ones(6), whose values are those of a parameter: the exporter's
// optimizer stores the two once, and the constant would train.
#include "lib/Lint/Find/Findings.h"

namespace kedge::lint {
using model::Node;

namespace {

/// "ones", "zeros_like_2", "c_lifted_tensor_0", "lifted_tensor_1": what torch.export calls values that no
/// parameter goes into.
bool isConstant(const std::string &value) {
  static const std::set<std::string> producers = {
      "ones",      "zeros",    "full", "ones_like", "zeros_like",    "full_like", "new_ones",
      "new_zeros", "new_full", "eye",  "arange",    "lifted_tensor", "linspace",  "scalar_tensor"};
  return value.starts_with("c_") ||
         producers.count(value.substr(0, value.find_last_not_of("_0123456789") + 1));
}

std::set<std::string> valuesOf(const model::Graph &graph) {
  std::set<std::string> values;
  for (const model::Tensor &tensor : graph.initializers)
    values.insert(tensor.name);
  for (const model::ValueInfo &input : graph.inputs)
    values.insert(input.name);
  for (const Node &node : graph.nodes)
    values.insert(node.outputs.begin(), node.outputs.end());
  return values;
}

} // namespace

void findMergedConstants(FindingContext &context) {
  const std::set<std::string> values = valuesOf(context.graph());
  for (const Initializer &initializer : context.initializers) {
    if (initializer.verdict != Verdict::Parameter)
      continue;
    for (const Use &use : context.evidence.uses.of(initializer.name)) {
      const FxCall *call = context.evidence.uses.call(use.node);
      const Node &node = context.graph().nodes[use.node];
      const std::vector<std::string> refs = call ? call->refs() : std::vector<std::string>();
      if (refs.size() != node.inputs.size() || !isConstant(refs[use.operand]) ||
          values.count(refs[use.operand]))
        continue;
      context.findings.push_back({Severity::Error, "merged-parameters", nodeName(node), initializer.name,
                                  moduleOf(node),
                                  fmt::format("it also stands for the constant '{}', which had its values "
                                              "when the exporter stored the two once: the constant "
                                              "would train",
                                              refs[use.operand]),
                                  "export again with torch.onnx.export(..., optimize=False)", false,
                                  fmt::format("stands for the constant {}", refs[use.operand])});
    }
  }
}

} // namespace kedge::lint
