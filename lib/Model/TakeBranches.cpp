// Ifs whose condition is known become the nodes of the branch that they take.
#include "lib/Model/Specialize.h"
#include "lib/Model/ValueNames.h"
#include "lib/Support/Error.h"

namespace kedge::model {
namespace {

class BranchTaker {
public:
  BranchTaker(Model &model, const Branches &branches) : model(model), branches(branches) {}

  /// `visible`: the names of the graphs around, and of this one.
  void walk(Graph &graph, std::set<std::string> visible) {
    std::vector<Node> result;
    for (Node &node : graph.nodes) {
      auto known = branches.find(node.id);
      if (node.is("If") && known != branches.end()) {
        splice(node, known->second, graph, visible, result);
        continue;
      }
      for (Attribute &attribute : node.attributes)
        for (std::shared_ptr<Graph> &inner : attribute.graphs) {
          auto copy = std::make_shared<Graph>(*inner);
          std::set<std::string> within = visible;
          within.merge(definedIn(*copy));
          walk(*copy, std::move(within));
          inner = std::move(copy);
        }
      result.push_back(std::move(node));
    }
    graph.nodes = std::move(result);
  }

private:
  void splice(const Node &node, bool takesThen, Graph &graph, std::set<std::string> &visible,
              std::vector<Node> &result) {
    Graph branch = node.attrGraph(takesThen ? "then_branch" : "else_branch");
    if (branch.outputs.size() != node.outputs.size())
      fail("{}: {} has {} outputs, its branch '{}' has {}. Export the model again", model.path,
           node.describe(), node.outputs.size(), branch.name, branch.outputs.size());
    NewNames names; // two branches may use the same names
    for (const std::string &name : definedIn(branch))
      if (std::string fresh = freshName(name, visible); fresh != name)
        names[name] = fresh;
    renameAll(branch, names);
    walk(branch, visible);
    visible.merge(definedIn(branch));
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (node.hasOutput(k))
        branch.nodes.push_back(identity(node, branch.outputs[k].name, node.outputs[k]));
    auto move = [](auto &from, auto &to) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    move(branch.nodes, result);
    move(branch.initializers, graph.initializers);
    move(branch.valueInfos, graph.valueInfos);
  }

  static Node identity(const Node &node, const std::string &from, const std::string &to) {
    Node result;
    result.opType = "Identity";
    result.name = node.name;
    result.inputs = {from};
    result.outputs = {to};
    result.opset = node.opset;
    result.metadata = node.metadata;
    return result;
  }

  Model &model;
  const Branches &branches;
};

} // namespace

void takeBranches(Model &model, const Branches &branches) {
  if (!branches.empty())
    BranchTaker(model, branches).walk(model.graph, definedIn(model.graph));
}

} // namespace kedge::model
