// Adapters of weights whose codes are in the model's file, in the exported file.
#include "driver/AdapterGraph.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include <map>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

std::string nameOf(train::StateOp state) { return state.getOnnxName().value_or(state.getSymName()).str(); }

/// A weight in few bits, with its adapter.
struct Packed {
  std::string symbol, a, b;
  double scale = 0;
  std::vector<int64_t> shape; ///< of the matrix
};

using PackedWeights = std::map<std::string, Packed>; // by the names of their codes

PackedWeights packedWeights(ModuleOp module) {
  PackedWeights weights;
  for (auto state : module.getOps<train::StateOp>()) {
    const auto adapter = tune::adapterOf(state);
    if (!adapter)
      continue;
    auto base = module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr());
    const auto encoding = tune::encodingOf(base);
    if (!encoding || !tune::isInFile(encoding.getFormat()))
      continue;
    Packed &weight = weights[nameOf(base)];
    weight.symbol = base.getSymName().str();
    weight.scale = adapter.getScale().getValueAsDouble();
    weight.shape = cast<RankedTensorType>(encoding.getWhole()).getShape().vec();
    (adapter.getFactor() == tune::Factor::A ? weight.a : weight.b) = nameOf(state);
  }
  return weights;
}

class PackedEdits {
public:
  PackedEdits(const model::Model &loaded, PackedWeights weights, exporter::Edits &edits)
      : loaded(loaded), weights(std::move(weights)), edits(edits) {}

  void run(PackedForm form) {
    for (const model::Node &node : loaded.lowered)
      if (const auto weight = weights.find(node.input(1));
          node.opType == "MatMulNBits" && weight != weights.end())
        product(node, weight->second, form);
    if (form == PackedForm::Beside)
      return;
    for (const model::Node &node : loaded.graph.nodes)
      if (const auto weight = weights.find(node.input(0));
          node.is("DequantizeLinear") && node.place && weight != weights.end()) {
        replace(node);
        addValues(node.output(0), weight->second, node.input(1));
      }
    removeUnread();
  }

private:
  exporter::GraphEdit &graph() { return edits.graphs[loaded.graph.place]; }

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

  void product(const model::Node &node, const Packed &weight, PackedForm form) {
    replace(node);
    const std::string &y = node.output(0);
    if (form == PackedForm::Merged)
      return merged(node, weight, y);
    const std::string stem = y + ".lora";
    model::Node base = node;
    base.place = 0;
    base.outputs[0] = y + ".base";
    graph().nodes.push_back({at->place, base});
    const std::string low = make("MatMul", {node.input(0), transposed(weight.a, stem + ".At")}, stem + ".A"),
                      delta = make("MatMul", {low, transposed(weight.b, stem + ".Bt")}, stem + ".B");
    graph().initializers.push_back(
        {stem + ".scale",
         model::Tensor::makeFloats(stem + ".scale", {}, {static_cast<float>(weight.scale)}),
         {}});
    make("Add", {base.outputs[0], make("Mul", {delta, stem + ".scale"}, stem + ".scaled")}, y);
  }

  void merged(const model::Node &node, const Packed &weight, const std::string &y) {
    const std::string values = weight.a.substr(0, weight.a.rfind(".lora_A")) + ".merged";
    if (added.insert(values).second)
      addValues(values, weight, node.input(2));
    const bool hasBias = node.hasInput(5);
    const std::string whole =
        make("MatMul", {node.input(0), transposed(values, y + ".weight")}, hasBias ? y + ".product" : y);
    if (hasBias)
      make("Add", {whole, node.input(5)}, y);
  }

  void addValues(const std::string &name, const Packed &weight, const std::string &scales) {
    const model::Tensor *like = loaded.graph.findInitializer(scales);
    graph().initializers.push_back(
        {name,
         exporter::StateElements{weight.symbol, like ? like->dtype : model::ElementType::Float, weight.shape},
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
