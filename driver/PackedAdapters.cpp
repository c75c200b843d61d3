// Adapters of weights whose codes are in the model's file, in the exported file.
#include "driver/AdapterGraph.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <map>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

std::string nameOf(train::StateOp state) { return state.getOnnxName().value_or(state.getSymName()).str(); }

/// A weight in few bits, with its adapter if it has one.
struct Packed {
  std::string symbol, a, b;
  double scale = 0;
  std::vector<int64_t> shape; ///< of the matrix; of those of experts, one under the other
  std::vector<int64_t> shapeA, shapeB;

  bool isAdapted() const { return !a.empty(); }
  int64_t experts() const { return shape[0] * shape[1] / (shapeB[0] * shapeA[1]); }
};

using PackedWeights = std::map<std::string, Packed>; // by the names of their codes

PackedWeights packedWeights(ModuleOp module) {
  PackedWeights weights;
  for (auto state : module.getOps<train::StateOp>())
    if (const auto encoding = tune::encodingOf(state);
        encoding && encoding.isInFile() && encoding.getPart() == tune::Part::Codes) {
      Packed &weight = weights[nameOf(state)];
      weight.symbol = state.getSymName().str();
      weight.shape = cast<RankedTensorType>(encoding.getWhole()).getShape().vec();
    }
  for (auto state : module.getOps<train::StateOp>()) {
    const auto adapter = tune::adapterOf(state);
    const auto found =
        adapter ? weights.find(nameOf(module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr())))
                : weights.end();
    if (found == weights.end())
      continue;
    Packed &weight = found->second;
    const bool isA = adapter.getFactor() == tune::Factor::A;
    weight.scale = adapter.getScale().getValueAsDouble();
    (isA ? weight.a : weight.b) = nameOf(state);
    (isA ? weight.shapeA : weight.shapeB) = state.wholeType().getShape().vec();
  }
  return weights;
}

class PackedEdits {
public:
  PackedEdits(const model::Model &loaded, PackedWeights weights, exporter::Edits &edits)
      : loaded(loaded), weights(std::move(weights)), edits(edits) {}

  void run(PackedForm form) {
    for (const model::Node &node : loaded.lowered)
      if (node.opType == "MatMulNBits")
        product(node, form);
      else if (node.opType == "QMoE")
        experts(node, form);
    for (const model::Node &node : loaded.graph.nodes)
      if (node.place && node.is("MatMulBnb4", "com.microsoft"))
        product(node, form);
    if (form == PackedForm::Beside)
      return removeUnread();
    for (const model::Node &node : loaded.graph.nodes)
      if (const Packed *weight = adapted(node.input(0));
          node.is("DequantizeLinear") && node.place && weight) {
        replace(node);
        addValues(node.output(0), *weight, node.input(1), weight->shape);
      }
    removeUnread();
  }

private:
  exporter::GraphEdit &graph() { return edits.graphs[loaded.graph.place]; }

  /// The weight of these codes, if it has an adapter.
  const Packed *adapted(const std::string &codes) const {
    const auto found = weights.find(codes);
    return found != weights.end() && found->second.isAdapted() ? &found->second : nullptr;
  }

  static std::string stemOf(const Packed &weight) { return weight.a.substr(0, weight.a.rfind(".lora_A")); }

  /// What is made from here on stands in the place of the node.
  void replace(const model::Node &node) {
    edits.nodes[node.place].remove = true;
    replaced.insert(node.place);
    at = &node;
  }

  std::string make(const std::string &type, std::vector<std::string> inputs, const std::string &output,
                   std::vector<model::Attribute> attributes = {}) {
    model::Node node;
    node.opType = type;
    node.name = output;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    graph().nodes.push_back({at->place, std::move(node)});
    return output;
  }

  std::string transposed(const std::string &value, const std::string &output) {
    return make("Transpose", {value}, output, {model::Attribute::makeInts("perm", {1, 0})});
  }

  void product(const model::Node &node, PackedForm form) {
    const Packed *found = adapted(node.input(1));
    if (!found)
      return;
    const Packed &weight = *found;
    replace(node);
    const std::string &y = node.output(0);
    if (form == PackedForm::Merged)
      return merged(node, weight, y);
    const std::string stem = y + ".lora";
    model::Node base = node;
    base.place = 0;
    base.outputs[0] = y + ".base";
    graph().nodes.push_back({at->place, base});
    replaced.erase(node.place); // the copy reads its codes
    const std::string low = make("MatMul", {node.input(0), transposed(weight.a, stem + ".At")}, stem + ".A"),
                      delta = make("MatMul", {low, transposed(weight.b, stem + ".Bt")}, stem + ".B");
    make("Add", {base.outputs[0], scaled(delta, weight, stem)}, y);
  }

  std::string scaled(const std::string &delta, const Packed &weight, const std::string &stem) {
    addTensor(model::Tensor::makeFloats(stem + ".scale", {}, {static_cast<float>(weight.scale)}));
    return make("Mul", {delta, stem + ".scale"}, stem + ".scaled");
  }

  std::string addTensor(model::Tensor tensor) {
    const std::string name = tensor.name;
    graph().initializers.push_back({name, std::move(tensor), {}});
    return name;
  }

  void merged(const model::Node &node, const Packed &weight, const std::string &y) {
    const std::string values = stemOf(weight) + ".merged";
    if (added.insert(values).second)
      addValues(values, weight, node.input(2), weight.shape);
    const bool hasBias = node.hasInput(5);
    const std::string whole =
        make("MatMul", {node.input(0), transposed(values, y + ".weight")}, hasBias ? y + ".product" : y);
    if (hasBias)
      make("Add", {whole, node.input(5)}, y);
  }

  /// Inputs of QMoE: codes, scales and bias of each of its layers, then zero points and weights.
  struct Layer {
    size_t codes, scales, bias;
  };
  static constexpr Layer kLayers[] = {{2, 3, 4}, {5, 6, 7}, {8, 9, 10}};
  static constexpr size_t kRouterWeights = 14;

  /// A QMoE of which an adapter changes experts becomes a MoE: there is no operator of some experts in codes.
  void experts(const model::Node &node, PackedForm form) {
    const Packed *one = nullptr;
    for (const Layer &layer : kLayers)
      if (const Packed *weight = adapted(node.input(layer.codes)))
        one = weight;
    if (!one)
      return;
    if (node.hasInput(kRouterWeights))
      refuse(node, "has weights of experts as an input of its own (router_weights), which MoE has not");
    replace(node);
    model::Node whole = node;
    whole.place = 0;
    whole.opType = "MoE";
    whole.inputs = {node.input(0), node.input(1)};
    for (const Layer &layer : kLayers) {
      const auto weight = weights.find(node.input(layer.codes));
      if (node.hasInput(layer.codes) && weight == weights.end())
        refuse(node, fmt::format("has fewer than 1024 codes in '{}', which are a constant",
                                 node.input(layer.codes)));
      whole.inputs.push_back(
          node.hasInput(layer.codes) ? expertValues(node, layer, weight->second, one->experts(), form) : "");
      whole.inputs.push_back(node.input(layer.bias));
    }
    while (whole.inputs.back().empty())
      whole.inputs.pop_back();
    std::erase_if(whole.attributes, [](const model::Attribute &attribute) {
      static const std::set<std::string> known = {
          "activation_alpha", "activation_beta", "activation_type", "k", "swiglu_fusion", "swiglu_limit"};
      return !known.count(attribute.name);
    });
    whole.attributes.push_back(model::Attribute::makeInt("normalize_routing_weights", 1)); // QMoE's way
    graph().nodes.push_back({at->place, std::move(whole)});
  }

  [[noreturn]] void refuse(const model::Node &node, const std::string &why) const {
    fail("{}: node '{}' (QMoE) {}: no file can have adapters of its experts, which --lora asks for; leave "
         "them out",
         loaded.path, node.name, why);
  }

  /// The name of values [experts, out, in] with what an adapter adds.
  std::string expertValues(const model::Node &node, const Layer &layer, const Packed &weight, int64_t count,
                           PackedForm form) {
    const bool isMerged = weight.isAdapted() && form == PackedForm::Merged;
    const std::string stem = weight.isAdapted() ? stemOf(weight) : node.input(layer.codes);
    const std::string values = stem + (isMerged ? ".merged" : ".values"), lora = stem + ".lora";
    const bool isFirst = added.insert(values).second;
    if (isFirst)
      addValues(values, weight, node.input(layer.scales), {count, weight.shape[0] / count, weight.shape[1]});
    if (!weight.isAdapted() || isMerged)
      return values;
    if (!isFirst)
      return lora + ".whole";
    const std::vector<int64_t> &a = weight.shapeA, &b = weight.shapeB;
    const int64_t rank = a[0] / count;
    const std::string rows = reshaped(weight.a, {count, rank, a[1]}, lora + ".A");
    const std::string columns = make("Transpose", {reshaped(weight.b, {b[0], rank, count}, lora + ".apart")},
                                     lora + ".B", {model::Attribute::makeInts("perm", {2, 0, 1})});
    return make("Add", {values, scaled(make("MatMul", {columns, rows}, lora + ".BA"), weight, lora)},
                lora + ".whole");
  }

  std::string reshaped(const std::string &value, const std::vector<int64_t> &shape,
                       const std::string &output) {
    const std::string dims =
        addTensor(model::Tensor::makeInts(output + ".shape", {static_cast<int64_t>(shape.size())}, shape));
    return make("Reshape", {value, dims}, output);
  }

  void addValues(const std::string &name, const Packed &weight, const std::string &scales,
                 const std::vector<int64_t> &shape) {
    const model::Tensor *like = loaded.graph.findInitializer(scales);
    graph().initializers.push_back(
        {name,
         exporter::StateElements{weight.symbol, like ? like->dtype : model::ElementType::Float, shape},
         {}});
  }

  /// Codes, scales and zero points that only the products read.
  void removeUnread() {
    std::set<std::string> read, gone;
    const auto note = [&](const model::Node &node) {
      (replaced.count(node.place) ? gone : read).insert(node.inputs.begin(), node.inputs.end());
    };
    for (const model::Node &node : loaded.lowered)
      note(node);
    model::forEachNode(loaded.graph, [&](const model::Node &node) {
      if (node.place)
        note(node);
    });
    for (const model::Tensor &tensor : loaded.graph.initializers) {
      const bool isPart = tensor.fewBits && weights.count(tensor.fewBits->codes);
      if (!tensor.place || !isPart || read.count(tensor.name) || !gone.count(tensor.name))
        continue;
      edits.tensors[tensor.place].remove = true;
      if (const model::ValueInfo *input = loaded.graph.findInput(tensor.name))
        edits.values[input->place].remove = true;
    }
  }

  const model::Model &loaded;
  const PackedWeights weights;
  exporter::Edits &edits;
  const model::Node *at = nullptr;
  std::set<uint64_t> replaced;
  std::set<std::string> added;
};

} // namespace

void editPackedProducts(const model::Model &loaded, ModuleOp module, PackedForm form,
                        exporter::Edits &edits) {
  if (PackedWeights weights = packedWeights(module); !weights.empty())
    PackedEdits(loaded, std::move(weights), edits).run(form);
}

} // namespace kedge::driver
