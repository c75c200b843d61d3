// The two forms of a model whose random numbers are switched off outside of training.
#include "lib/Lint/Lint.h"
#include "lib/Lint/Noise.h"
#include "lib/Lint/Reach.h"
#include "lib/Lint/Repair/Repair.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Model;
using model::Node;

namespace {
/// Nodes that only fed values which nobody reads any more are taken out; the search begins at the values
/// `loose`.
void removeUnread(Graph &graph, std::set<std::string> loose) {
  for (const Node &node : graph.nodes)
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](const std::string &name) { return loose.count(name); }))
      loose.insert(node.outputs.begin(), node.outputs.end());
  std::set<std::string> read;
  for (const model::ValueInfo &output : graph.outputs)
    read.insert(output.name);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    auto is = [&](const std::set<std::string> &names) {
      return std::any_of(node->outputs.begin(), node->outputs.end(),
                         [&](const std::string &name) { return names.count(name); });
    };
    if (is(loose) && !is(read)) {
      for (const std::string &name : readsOf(*node)) // its constants go with it
        loose.insert(name);
      continue;
    }
    for (const std::string &name : readsOf(*node))
      read.insert(name);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  graph.valueInfos.eraseIf(
      [&](const model::ValueInfo &info) { return loose.count(info.name) && !read.count(info.name); });
}

void replaceReads(Graph &graph, const std::string &before, const std::string &after) {
  model::forEachNode(
      graph, [&](Node &node) { std::replace(node.inputs.begin(), node.inputs.end(), before, after); });
}
} // namespace

void chooseByMode(Model &model, const Noise &noise) {
  GraphEditor editor(model.graph);
  for (const NoiseSwitch &one : noise.switches) {
    Node &producer = model.graph.nodes[one.node];
    const std::string training = editor.fresh(one.result + "/training");
    std::replace(producer.outputs.begin(), producer.outputs.end(), one.result, training);
    Node choice;
    choice.opType = "ByMode";
    choice.domain = std::string(ownDomain);
    choice.name = training;
    choice.inputs = {training, one.data};
    choice.outputs = {one.result};
    choice.opset = 1;
    choice.metadata = producer.metadata;
    editor.insertAfter(one.node, std::move(choice));
  }
  editor.finish();
}

void switchOff(Model &model, const Noise &noise) {
  std::map<std::string, std::string> stands; // a result's data may be another's result
  for (const NoiseSwitch &one : noise.switches)
    stands[one.result] = one.data;
  auto sourceOf = [&](std::string name) {
    while (stands.count(name))
      name = stands[name];
    return name;
  };
  std::set<std::string> loose;
  GraphEditor editor(model.graph);
  for (const NoiseSwitch &one : noise.switches) {
    for (size_t draw : one.draws)
      loose.insert(model.graph.nodes[draw].output(0));
    const std::string source = sourceOf(one.data);
    replaceReads(model.graph, one.result, source);
    if (!model.graph.findOutput(one.result))
      continue;
    Node &producer = model.graph.nodes[one.node];
    std::replace(producer.outputs.begin(), producer.outputs.end(), one.result,
                 editor.fresh(one.result + "/training"));
    Node same;
    same.opType = "Identity";
    same.name = one.result;
    same.inputs = {source};
    same.outputs = {one.result};
    same.opset = producer.opset;
    editor.insertAfter(one.node, std::move(same));
  }
  editor.finish();
  removeUnread(model.graph, std::move(loose));
}

} // namespace kedge::lint
