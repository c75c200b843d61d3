// Gradients that the model stopped, and that the file no longer shows.
#include "lib/Lint/Find/Findings.h"
#include <algorithm>

namespace kedge::lint {
using model::Node;

namespace {

/// "detach", "detach_1", "detach__2": what torch.export calls the results of detach() and detach_().
bool isDetached(const std::string &value) {
  constexpr std::string_view name = "detach";
  return value.starts_with(name) && value.find_first_not_of("_0123456789", name.size()) == std::string::npos;
}

class LostStops {
public:
  explicit LostStops(FindingContext &context) : context(context) {
    for (const auto &[name, verdict] : context.verdicts)
      if (verdict == Verdict::Parameter)
        moving.insert(name);
    for (const Node *node : context.evidence.reach.between(moving)) {
      between.insert(node);
      moving.insert(node->outputs.begin(), node->outputs.end());
    }
    for (size_t n = 0; n < context.graph().nodes.size(); ++n)
      if (const FxCall *call = context.evidence.uses.call(n))
        calls.insert(call->name);
  }

  void find() {
    for (size_t n = 0; n < context.graph().nodes.size(); ++n) {
      const FxCall *call = context.evidence.uses.call(n);
      const Node &node = context.graph().nodes[n];
      if (!call || context.evidence.uses.siblings(n).front() != n || !between.count(&node))
        continue;
      const std::vector<std::string> refs = call->refs();
      for (size_t k = 0; k < refs.size(); ++k)
        if (isDetached(refs[k]) && !calls.count(refs[k]) && moves(node, refs, k))
          report(node, refs[k]);
    }
  }

private:
  /// Whether what stands for reference `k` depends on a parameter; of a node with other operands than the
  /// call: whether any does.
  bool moves(const Node &node, const std::vector<std::string> &refs, size_t k) const {
    if (node.inputs.size() == refs.size())
      return moving.count(node.input(k)) != 0;
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const std::string &name) { return moving.count(name) != 0; });
  }

  void report(const Node &node, const std::string &value) {
    context.findings.push_back({Severity::Error, "lost-detach", nodeName(node), value, moduleOf(node),
                                "it reads the result of a detach() that the exporter's optimizer removed: "
                                "the gradient would pass where the model stopped it",
                                "export again with torch.onnx.export(..., optimize=False)", false, ""});
  }

  FindingContext &context;
  std::set<std::string> moving, calls;
  std::set<const Node *> between;
};

} // namespace

void findLostStops(FindingContext &context) { LostStops(context).find(); }

} // namespace kedge::lint
