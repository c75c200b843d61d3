// What changed between two models as edits of the file, found by the byte places that both remember.
#include "lib/Export/Template/ModelDiff.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <set>

namespace kedge::exporter {
using model::Metadata;
using model::Model;
using model::Node;
using model::Tensor;

namespace {
MetadataEdit metadataDiff(const Metadata &before, const Metadata &after) {
  MetadataEdit edit;
  for (const auto &[key, value] : before)
    if (!after.count(key))
      edit.erase.push_back(key);
  for (const auto &[key, value] : after)
    if (auto found = before.find(key); found == before.end() || found->second != value)
      edit.set.insert({key, value});
  return edit;
}

class Diff {
public:
  Diff(const Model &before, const Model &after) : before(before), after(after) {}

  Edits run() {
    tensors();
    nodes();
    values(before.graph.inputs, after.graph.inputs);
    values(before.graph.outputs, after.graph.outputs);
    values(before.graph.valueInfos, after.graph.valueInfos);
    return std::move(edits);
  }

private:
  GraphEdit &mainGraph() { return edits.graphs[before.graph.place]; }

  void tensors() {
    std::set<uint64_t> kept;
    std::set<std::string> made; // for nodes that stand for others of the file
    for (const Tensor &tensor : before.graph.initializers)
      if (!tensor.place)
        made.insert(tensor.name);
    for (const Tensor &tensor : after.graph.initializers) {
      if (tensor.place)
        kept.insert(tensor.place);
      else if (!made.count(tensor.name))
        mainGraph().initializers.push_back({tensor.name, tensor, tensor.metadata});
      if (tensor.place && tensor.resized) // for those that are no states
        edits.tensors[tensor.place].elements = tensor;
    }
    for (const Tensor &tensor : before.graph.initializers)
      if (tensor.place && !kept.count(tensor.place)) {
        edits.tensors[tensor.place].remove = true;
        // Old files list initializers among the inputs, too.
        if (const model::ValueInfo *input = before.graph.findInput(tensor.name);
            input && !after.graph.findInput(tensor.name))
          edits.values[input->place].remove = true;
      }
  }

  void nodes() {
    std::map<uint64_t, const Node *> old;
    std::map<uint64_t, size_t> sharing;
    std::set<std::string> made; // by nodes that stand for others of the file: they are in no place of it
    for (const Node &node : before.graph.nodes) {
      if (!node.place)
        made.insert(node.output(0));
      old[node.place] = &node;
      ++sharing[node.place];
    }
    // From the end: a new node stands before the next one that the file has.
    removals(old, sharing);
    uint64_t next = 0;
    for (auto node = after.graph.nodes.rbegin(); node != after.graph.nodes.rend(); ++node) {
      if (!node->place && made.count(node->output(0)))
        continue;
      if (!node->place) {
        std::vector<NewNode> &added = mainGraph().nodes;
        added.insert(added.begin(), {next, *node});
        continue;
      }
      next = node->place;
      if (sharing[node->place] == 1)
        edit(*old.at(node->place), *node);
      else if (differs(*node))
        fail("{}: {} is in a model-local function that is called several times; its repair cannot be "
             "exported. "
             "Inline the functions, or export the model again",
             before.path, node->describe());
    }
  }

  /// Declared shapes that changed.
  template <typename List> void values(const List &old, const List &now) {
    std::map<uint64_t, const model::ValueInfo *> known;
    for (const model::ValueInfo &info : now)
      known[info.place] = &info;
    for (const model::ValueInfo &info : old)
      if (const auto found = known.find(info.place);
          info.place && found != known.end() && found->second->dims != info.dims)
        edits.values[info.place].replaced = *found->second;
  }

  /// Nodes of the file that are no more; a function's body is the calls' in common.
  void removals(const std::map<uint64_t, const Node *> &old, const std::map<uint64_t, size_t> &sharing) {
    std::set<uint64_t> kept;
    for (const Node &node : after.graph.nodes)
      kept.insert(node.place);
    for (const auto &[place, node] : old)
      if (place && sharing.at(place) == 1 && !kept.count(place))
        edits.nodes[place].remove = true;
  }

  bool differs(const Node &node) const {
    return std::none_of(before.graph.nodes.begin(), before.graph.nodes.end(), [&](const Node &o) {
      return o.place == node.place && o.inputs == node.inputs && o.outputs == node.outputs;
    });
  }

  void edit(const Node &old, const Node &now) {
    NodeEdit edit;
    if (old.inputs != now.inputs)
      edit.inputs = now.inputs;
    if (old.outputs != now.outputs)
      edit.outputs = now.outputs;
    edit.metadata = metadataDiff(old.metadata, now.metadata);
    if (edit.inputs || edit.outputs || !edit.metadata.empty())
      edits.nodes[old.place] = std::move(edit);
  }

  const Model &before;
  const Model &after;
  Edits edits;
};
} // namespace

Edits editsBetween(const Model &before, const Model &after) { return Diff(before, after).run(); }

} // namespace kedge::exporter
