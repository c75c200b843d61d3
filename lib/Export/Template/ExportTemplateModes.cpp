// Ready-made edits.
#include "lib/Export/Template/ExportTemplateEdits.h"
#include "lib/Model/Specialize.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_set>

namespace kedge::exporter {

/// An attribute's numbers are a state's where it has a tensor: of the state's name and shape.
void Edits::fromState(const model::Tensor &tensor, std::string state) {
  auto attribute = tensor.metadata.find(model::attributeKey);
  if (attribute == tensor.metadata.end()) {
    tensors[tensor.place].elements = StateElements{std::move(state), tensor.dtype, tensor.dims};
    return;
  }
  model::Tensor numbers;
  numbers.name = std::move(state);
  numbers.dtype = tensor.dtype;
  numbers.dims = tensor.dims;
  model::Attribute floats = model::Attribute::makeFloats(attribute->second, {});
  floats.tensors = {std::make_shared<model::Tensor>(std::move(numbers))};
  nodes[tensor.place].set.push_back(std::move(floats));
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

namespace {
constexpr int64_t dropoutWithMode = 12, normWithMode = 14; // first opsets whose operators know a mode

/// Statistics are results of this form, and runtimes ask for all of them.
void trainNorm(const model::Node &node, NodeEdit &edit) {
  edit.set.push_back(model::Attribute::makeInt("training_mode", 1));
  edit.outputs = node.outputs;
  for (const char *statistic : {"/running_mean", "/running_var"})
    if (edit.outputs->size() < 3)
      edit.outputs->push_back(node.output(0) + statistic);
}
} // namespace

std::vector<std::string> setTrainingMode(const model::Model &before, const model::Model &trained,
                                         Edits &edits) {
  std::map<uint64_t, const model::Node *> old;
  for (const model::Node &node : before.graph.nodes)
    old.emplace(node.place, &node);
  auto imported = trained.opsets.find("");
  const int64_t opset = imported == trained.opsets.end() ? 0 : imported->second;
  size_t norms = 0, dropouts = 0;
  std::set<std::string> added;
  for (const model::Node &node : trained.graph.nodes) {
    auto found = old.find(node.place);
    if (!node.place || found == old.end())
      continue;
    if (node.is("BatchNormalization") && node.attrBool("training_mode", false) && !trains(*found->second)) {
      if (opset < normWithMode)
        ++norms;
      else
        trainNorm(node, edits.nodes[node.place]);
    } else if (node.is("Dropout") && node.hasInput(2) && node.inputs != found->second->inputs) {
      if (opset < dropoutWithMode) {
        ++dropouts;
        continue;
      }
      edits.nodes[node.place].inputs = node.inputs;
      added.insert(node.inputs.begin() + 1, node.inputs.end());
    }
  }
  for (const model::Tensor &tensor : trained.graph.initializers)
    if (!tensor.place && added.count(tensor.name) && !before.graph.findInitializer(tensor.name))
      edits.graphs[before.graph.place].initializers.push_back({tensor.name, tensor, tensor.metadata});
  std::vector<std::string> kept;
  if (norms + dropouts)
    kept.push_back(
        fmt::format("{} BatchNormalization and {} Dropout stay in inference mode: opset {} has no other",
                    norms, dropouts, opset));
  return kept;
}

} // namespace kedge::exporter
