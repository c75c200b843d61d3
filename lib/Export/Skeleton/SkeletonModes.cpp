// Ready-made edits.
#include "kedge/Export/Skeleton/SkeletonEdits.h"
#include <algorithm>
#include <unordered_set>

namespace kedge::exporter {

void Edits::fromState(const model::Tensor &tensor, std::string state) {
  tensors[tensor.place].elements = StateElements{std::move(state), tensor.dtype, tensor.dims};
}

namespace {

/// Every name that something reads, in any graph.
std::unordered_set<std::string> collectReads(const model::Model &model) {
  std::unordered_set<std::string> reads;
  auto addGraph = [&](const model::Graph &graph) {
    for (const model::ValueInfo &output : graph.outputs)
      reads.insert(output.name);
    model::forEachNode(graph, [&](const model::Node &node) {
      reads.insert(node.inputs.begin(), node.inputs.end());
      for (const model::Attribute &a : node.attributes)
        for (const auto &sub : a.graphs)
          for (const model::ValueInfo &output : sub->outputs)
            reads.insert(output.name);
    });
  };
  addGraph(model.graph);
  for (const model::TrainingInfo &info : model.trainingInfo)
    if (info.algorithm)
      addGraph(*info.algorithm);
  reads.erase("");
  return reads;
}

bool trains(const model::Node &node) {
  if (node.is("BatchNormalization"))
    return node.attrBool("training_mode", false) || node.outputs.size() > 1;
  return node.is("Dropout") && node.hasInput(2);
}

} // namespace

std::vector<std::string> setInferenceMode(const model::Model &model, Edits &edits) {
  std::unordered_set<std::string> reads = collectReads(model);
  std::vector<std::string> kept;
  std::unordered_set<uint64_t> keptPlaces;
  std::unordered_set<std::string> goneOutputs;
  auto needsTraining = [&](const model::Node &node) {
    for (size_t k = 1; node.is("BatchNormalization") && k < node.outputs.size(); ++k)
      if (reads.contains(node.outputs[k]))
        return true;
    return false;
  };
  // Instances of one function body share a place: one that has to stay keeps all.
  model::forEachNode(model.graph, [&](const model::Node &node) {
    if (trains(node) && needsTraining(node) && keptPlaces.insert(node.place).second)
      kept.push_back(node.describe());
  });
  model::forEachNode(model.graph, [&](const model::Node &node) {
    if (!trains(node) || node.place == 0 || keptPlaces.contains(node.place))
      return;
    NodeEdit &edit = edits.nodes[node.place];
    if (node.is("Dropout")) {
      edit.keepInputs = node.hasInput(1) ? 2 : 1;
      return;
    }
    edit.keepOutputs = 1;
    if (std::find(edit.erase.begin(), edit.erase.end(), "training_mode") == edit.erase.end())
      edit.erase.push_back("training_mode");
    for (size_t k = 1; k < node.outputs.size(); ++k)
      goneOutputs.insert(node.outputs[k]);
  });
  for (const model::ValueInfo &info : model.graph.valueInfos)
    if (info.place != 0 && goneOutputs.contains(info.name))
      edits.values[info.place].remove = true;
  return kept;
}

} // namespace kedge::exporter
