// Weights that are no initializers of the main graph: those of graphs within nodes, and Constants.
#include "lib/Model/Specialize.h"
#include "lib/Model/ValueNames.h"
#include <algorithm>

namespace kedge::model {
namespace {

/// Exporters of PyTorch write every parameter and buffer as an initializer: Constants are numbers of the
/// code.
bool writesInitializers(const Model &model) { return model.producer == "pytorch"; }

bool mayBeWeight(const Tensor &tensor) { return isFloat(tensor.dtype) && tensor.dims.size() >= 2; }

class Hoister {
public:
  explicit Hoister(Model &model)
      : model(model), used(definedBelow(model.graph)), taken(definedIn(model.graph)) {}

  void run() {
    moveInitializers(model.graph, true);
    const auto &all = model.graph.initializers;
    takesConstants = !writesInitializers(model) && std::none_of(all.begin(), all.end(), mayBeWeight);
    if (takesConstants)
      moveConstants(model.graph, true);
  }

private:
  /// Two branches may use the same name.
  std::string nameFor(const std::string &name, bool isMain) {
    return isMain || taken.insert(name).second ? name : freshName(name, used);
  }

  /// One number in a graph within a node is a bound, a step or a factor of it.
  Node constantOf(Tensor tensor) const {
    Node node;
    node.opType = "Constant";
    node.outputs = {tensor.name};
    node.opset = model.opsets.count("") ? model.opsets.at("") : 13;
    tensor.place = 0;
    node.attributes = {Attribute::makeTensor("value", std::move(tensor))};
    return node;
  }

  template <typename Visit> void forGraphsWithin(Graph &graph, Visit visit) {
    for (Node &node : graph.nodes)
      for (Attribute &attribute : node.attributes)
        for (std::shared_ptr<Graph> &inner : attribute.graphs) {
          auto copy = std::make_shared<Graph>(*inner);
          visit(*copy);
          inner = std::move(copy);
        }
  }

  void moveInitializers(Graph &graph, bool isMain) {
    if (!isMain) {
      NewNames names;
      std::vector<Tensor> kept;
      std::vector<Node> numbers;
      for (Tensor &tensor : graph.initializers) {
        if (isFloat(tensor.dtype) && tensor.isScalarLike() && !graph.findInput(tensor.name)) {
          numbers.push_back(constantOf(std::move(tensor)));
          continue;
        }
        if (!isFloat(tensor.dtype) || graph.findInput(tensor.name)) {
          kept.push_back(std::move(tensor));
          continue;
        }
        names[tensor.name] = nameFor(tensor.name, isMain);
        hoist(std::move(tensor), names);
      }
      graph.initializers = std::move(kept);
      numbers.insert(numbers.end(), std::make_move_iterator(graph.nodes.begin()),
                     std::make_move_iterator(graph.nodes.end()));
      graph.nodes = std::move(numbers);
      renameReadsOf(graph, names);
    }
    forGraphsWithin(graph, [&](Graph &inner) { moveInitializers(inner, false); });
  }

  void moveConstants(Graph &graph, bool isMain) {
    NewNames names;
    std::vector<Node> kept;
    for (Node &node : graph.nodes) {
      const Tensor *value =
          node.is("Constant") && node.attributes.size() == 1 ? node.attrTensorIf("value") : nullptr;
      const bool moves = value && value->place && isFloat(value->dtype) && !value->dims.empty() &&
                         !(isMain && graph.findOutput(node.output(0)));
      if (!moves) {
        kept.push_back(std::move(node));
        continue;
      }
      const std::string name = node.output(0);
      auto known = byPlace.find(value->place); // a function's body that was inlined again
      names[name] = known != byPlace.end() ? known->second : nameFor(name, isMain);
      if (known == byPlace.end()) {
        byPlace[value->place] = names[name];
        Tensor tensor = *value;
        tensor.name = name;
        hoist(std::move(tensor), names);
      }
    }
    graph.nodes = std::move(kept);
    renameReadsOf(graph, names);
    forGraphsWithin(graph, [&](Graph &inner) { moveConstants(inner, false); });
  }

  void hoist(Tensor tensor, const NewNames &names) {
    tensor.name = names.at(tensor.name);
    model.graph.initializers.push_back(std::move(tensor));
  }

  static void renameReadsOf(Graph &graph, NewNames names) {
    std::erase_if(names, [](const auto &entry) { return entry.first == entry.second; });
    if (names.empty())
      return;
    for (Node &node : graph.nodes)
      renameReads(node, names);
    for (ValueInfo &output : graph.outputs)
      if (auto found = names.find(output.name); found != names.end())
        output.name = found->second;
  }

  Model &model;
  std::set<std::string> used, taken;
  std::map<uint64_t, std::string> byPlace;
  bool takesConstants = false;
};

} // namespace

void hoistWeights(Model &model) { Hoister(model).run(); }

} // namespace kedge::model
