// What compile must know, and cannot because it depends on data: control flow that it unrolls, shapes, axes
// and bounds.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/OperatorFacts.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace kedge::lint {
using model::Graph;
using model::Node;

namespace {

/// Which values depend on what the model is fed, and not on shapes alone.
class DataFlow {
public:
  explicit DataFlow(FindingContext &context) : context(context) {
    for (const model::ValueInfo *feed : context.graph().feeds())
      fed.insert(feed->name);
  }

  void walk(const Graph &graph) {
    for (const Node &node : graph.nodes)
      visit(node);
  }

private:
  bool depends(const std::string &value) const { return fed.count(value) != 0; }

  bool dependsOnReads(const Node &node) const {
    for (const std::string &name : readsOf(node))
      if (depends(name))
        return true;
    return false;
  }

  void mark(const Node &node) { fed.insert(node.outputs.begin(), node.outputs.end()); }

  void visit(const Node &node) {
    if (node.is("Shape") || node.is("Size"))
      return;
    if (node.is("If"))
      return visitIf(node);
    if (node.is("Loop"))
      return visitLoop(node);
    checkOperands(node);
    if (dependsOnReads(node))
      mark(node);
  }

  void checkOperands(const Node &node) {
    const std::optional<FxCall> call = FxCall::of(node);
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (depends(node.input(k)) && decidesShape(node, k))
        report(node,
               fmt::format("input {} ('{}') must be known at compile time, but depends on data{}", k,
                           node.input(k), call ? ": it is part of PyTorch's " + call->target : ""),
               remedyFor(call ? call->target : ""));
  }

  /// Of calls that can be written with sizes that are known.
  static const char *remedyFor(std::string_view call) {
    if (call == "masked_scatter")
      return "write it as where(mask, source.flatten()[(mask.flatten().cumsum(0) - 1).clamp(0)].view_as(x), "
             "x)";
    if (call == "masked_select" || call == "nonzero" || call == "index")
      return "keep all elements, and weigh those that the mask leaves out by 0, as with where()";
    if (call == "embedding_renorm")
      return "leave max_norm out of the Embedding";
    return "export the model with that value fixed, or give the input that it follows from, if it always has "
           "the "
           "same numbers: --value INPUT=NUMBER,...";
  }

  void visitIf(const Node &node) {
    if (depends(node.input(0))) {
      report(node,
             "the condition depends on data; only an If whose condition is known at compile time works");
      return mark(node);
    }
    for (const char *name : {"then_branch", "else_branch"})
      if (const Graph *branch = node.attrGraphIf(name)) {
        walk(*branch);
        for (size_t k = 0; k < std::min(branch->outputs.size(), node.outputs.size()); ++k)
          if (depends(branch->outputs[k].name))
            fed.insert(node.outputs[k]);
      }
  }

  /// What a turn carries on may come to depend on data in a later turn.
  void visitLoop(const Node &node) {
    const Graph *body = node.attrGraphIf("body");
    if (!body)
      return;
    if (depends(node.input(0)))
      report(node,
             "the trip count depends on data; only a Loop whose iterations are known at compile time works");
    for (size_t before = fed.size() + 1; before != fed.size();) {
      before = fed.size();
      for (size_t k = 1; k < body->inputs.size(); ++k)
        if (depends(node.input(k)) || (k < body->outputs.size() + 1 && depends(body->outputs[k - 1].name)))
          fed.insert(body->inputs[k].name);
      walkQuietly(*body);
    }
    walk(*body);
    if (!body->outputs.empty() && depends(body->outputs[0].name))
      report(node, "the end depends on data; only a Loop whose iterations are known at compile time works");
    for (size_t k = 0; k + 1 < body->outputs.size() && k < node.outputs.size(); ++k)
      if (depends(body->outputs[k + 1].name))
        fed.insert(node.outputs[k]);
  }

  void walkQuietly(const Graph &graph) {
    const bool before = std::exchange(quiet, true);
    walk(graph);
    quiet = before;
  }

  void report(const Node &node, const std::string &reason,
              const char *remedy = "export the model with that branch or number of turns fixed") {
    if (!quiet)
      context.findings.push_back({Severity::Error, "unsupported-op", nodeName(node), node.output(0),
                                  moduleOf(node), reason, remedy, false, ""});
  }

  FindingContext &context;
  std::set<std::string> fed;
  bool quiet = false;
};

} // namespace

void findDataFlow(FindingContext &context) { DataFlow(context).walk(context.graph()); }

} // namespace kedge::lint
