#include "driver/AdapterGraph.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include <map>

using namespace mlir;

namespace kedge::driver {
namespace {

/// Names of the factors, by the weight's name.
struct Factors {
  std::string a, b;
  double scale = 0;
};

std::string nameOf(train::StateOp state) { return state.getOnnxName().value_or(state.getSymName()).str(); }

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
    return std::move(model);
  }

private:
  void add(train::StateOp state, tune::AdapterAttr adapter, train::StateOp base) {
    Factors &names = factors[nameOf(base)];
    (adapter.getFactor() == tune::Factor::A ? names.a : names.b) = nameOf(state);
    names.scale = adapter.getScale().getValueAsDouble();
    auto shape = cast<RankedTensorType>(state.getType()).getShape();
    if (state.getSharding())
      shape = state.wholeType().getShape();
    model::Tensor tensor = model::Tensor::makeFloats(nameOf(state), {0}, {});
    tensor.dims = shape.vec();
    model.graph.initializers.push_back(tensor);
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

} // namespace kedge::driver
