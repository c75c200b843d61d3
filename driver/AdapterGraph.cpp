#include "driver/AdapterGraph.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include <algorithm>
#include <map>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

/// Names of the factors, by the weight's name.
struct Factors {
  std::string a, b;
  double scale = 0;
  int64_t experts = 1;
  bool transposed = false; ///< the weight lies as [..., in, out]
};

std::string nameOf(train::StateOp state) { return state.getOnnxName().value_or(state.getSymName()).str(); }

/// What readers of experts read where these have an adapter.
std::string withAdapter(const std::string &weight) { return weight + ".lora.whole"; }

class AdapterGraph {
public:
  AdapterGraph(model::Model model, ModuleOp module) : model(std::move(model)) {
    for (auto state : module.getOps<train::StateOp>())
      if (auto adapter = tune::adapterOf(state))
        add(state, adapter, module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr()));
  }

  model::Model run() {
    std::map<std::string, std::string> weightOf; // value -> the weight that it is, maybe transposed
    for (const auto &[weight, names] : factors)
      if (names.experts == 1)
        weightOf[weight] = weight;
    for (const model::Node &node : model.graph.nodes) {
      const bool keepsPlace = node.is("Transpose") || (node.is("DequantizeLinear") && node.place != 0);
      if (keepsPlace && weightOf.count(node.input(0)))
        weightOf[node.output(0)] = weightOf[node.input(0)];
      const bool isMatmul =
          (node.is("MatMul") || node.is("Gemm") || node.is("Conv")) && weightOf.count(node.input(1));
      nodes.push_back(node);
      if (isMatmul)
        adapt(factors.at(weightOf[node.input(1)]));
    }
    model.graph.nodes = std::move(nodes);
    for (const auto &[weight, names] : factors)
      if (names.experts > 1)
        adaptExperts(weight, names);
    return std::move(model);
  }

private:
  void add(train::StateOp state, tune::AdapterAttr adapter, train::StateOp base) {
    Factors &names = factors[nameOf(base)];
    (adapter.getFactor() == tune::Factor::A ? names.a : names.b) = nameOf(state);
    names.scale = adapter.getScale().getValueAsDouble();
    names.transposed = adapter.getTransposed().getValue();
    auto shape = cast<RankedTensorType>(state.getType()).getShape();
    if (state.getSharding())
      shape = state.wholeType().getShape();
    model::Tensor tensor = model::Tensor::makeFloats(nameOf(state), {0}, {});
    tensor.dims = shape.vec();
    model.graph.initializers.push_back(tensor);
    if (const model::Tensor *weight = findTensor(nameOf(base));
        weight && weight->dims.size() == 3 && shape.size() == 2)
      names.experts = weight->dims[0];
  }

  const model::Tensor *findTensor(const std::string &name) const {
    for (const model::Tensor &tensor : model.graph.initializers)
      if (tensor.name == name)
        return &tensor;
    return nullptr;
  }

  std::string make(const model::Node &like, const char *type, std::vector<std::string> inputs,
                   const std::string &output, std::vector<model::Attribute> attributes = {}) {
    model::Node node;
    node.opType = type;
    node.name = output;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    node.opset = like.opset;
    nodes.push_back(node);
    return output;
  }

  std::string transposed(const model::Node &like, const std::string &value, const std::string &output) {
    return make(like, "Transpose", {value}, output, {model::Attribute::makeInts("perm", {1, 0})});
  }

  std::string constant(const std::string &name, const std::vector<int64_t> &values) {
    model.graph.initializers.push_back(
        model::Tensor::makeInts(name, {static_cast<int64_t>(values.size())}, values));
    return name;
  }

  /// Whatever reads the experts reads their sums with the products of A and B.
  void adaptExperts(const std::string &weight, const Factors &names) {
    const std::string stem = weight + ".lora", whole = withAdapter(weight);
    const auto readers = [&](model::Node &node) {
      std::replace(node.inputs.begin(), node.inputs.end(), weight, whole);
    };
    std::for_each(model.graph.nodes.begin(), model.graph.nodes.end(), readers);
    const model::Node like = model.graph.nodes.front();
    nodes.clear();
    const std::vector<int64_t> a = findTensor(names.a)->dims, b = findTensor(names.b)->dims;
    const int64_t experts = names.experts, rank = a[0] / experts;
    const std::string rows =
        make(like, "Reshape", {names.a, constant(stem + ".A.shape", {experts, rank, a[1]})}, stem + ".A");
    const std::string apart = make(
        like, "Reshape", {names.b, constant(stem + ".B.shape", {b[0], rank, experts})}, stem + ".B.apart");
    const std::string columns =
        make(like, "Transpose", {apart}, stem + ".B", {model::Attribute::makeInts("perm", {2, 0, 1})});
    std::string delta = make(like, "MatMul", {columns, rows}, stem + ".BA");
    if (names.transposed)
      delta = make(like, "Transpose", {delta}, stem + ".AB", {model::Attribute::makeInts("perm", {0, 2, 1})});
    model.graph.initializers.push_back(
        model::Tensor::makeFloats(stem + ".scale", {}, {static_cast<float>(names.scale)}));
    make(like, "Add", {weight, make(like, "Mul", {delta, stem + ".scale"}, stem + ".scaled")}, whole);
    model.graph.nodes.insert(model.graph.nodes.begin(), nodes.begin(), nodes.end());
  }

  /// Behind the last node.
  void adapt(const Factors &names) {
    const std::string y = nodes.back().output(0), stem = y + ".lora";
    nodes.back().outputs[0] = y + ".base";
    const model::Node base = nodes.back();
    std::string x = base.input(0), delta;
    if (base.is("Conv")) {
      std::vector<model::Attribute> window;
      for (const model::Attribute &attribute : base.attributes)
        if (attribute.name != "group" && attribute.name != "kernel_shape")
          window.push_back(attribute);
      delta =
          make(base, "Conv", {make(base, "Conv", {x, names.a}, stem + ".A", window), names.b}, stem + ".B");
    } else {
      if (base.attrInt("transA", 0) != 0)
        x = transposed(base, x, stem + ".x");
      const std::string low = make(base, "MatMul", {x, transposed(base, names.a, stem + ".At")}, stem + ".A");
      delta = make(base, "MatMul", {low, transposed(base, names.b, stem + ".Bt")}, stem + ".B");
    }
    model.graph.initializers.push_back(
        model::Tensor::makeFloats(stem + ".scale", {}, {static_cast<float>(names.scale)}));
    make(base, "Add", {base.output(0), make(base, "Mul", {delta, stem + ".scale"}, stem + ".scaled")}, y);
  }

  model::Model model;
  std::map<std::string, Factors> factors;
  std::vector<model::Node> nodes;
};

} // namespace

model::Model withAdapterNodes(const model::Model &model, ModuleOp module) {
  return AdapterGraph(model, module).run();
}

void editLoweredExperts(const model::Model &loaded, ModuleOp module, exporter::Edits &edits) {
  std::set<std::string> experts;
  for (auto state : module.getOps<train::StateOp>())
    if (auto adapter = tune::adapterOf(state)) {
      const std::string base = nameOf(module.lookupSymbol<train::StateOp>(adapter.getBase().getAttr()));
      const model::Tensor *weight = loaded.graph.findInitializer(base);
      if (weight && weight->dims.size() == 3 && state.wholeType().getRank() == 2)
        experts.insert(base);
    }
  for (const model::Node &node : loaded.lowered) {
    model::Node changed = node;
    for (std::string &input : changed.inputs)
      if (experts.count(input))
        input = withAdapter(input);
    if (changed.inputs == node.inputs)
      continue;
    changed.place = 0;
    edits.nodes[node.place].remove = true;
    edits.graphs[loaded.graph.place].nodes.push_back({node.place, std::move(changed)});
  }
}

} // namespace kedge::driver
