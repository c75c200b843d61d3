#include "driver/QuantizedGraph.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Support/Error.h"
#include "passes/Adapters/FakeQuantizeRule.h"
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {
using exporter::IntegerPart;
using model::ElementType;
using tune::Format;

/// A weight that is rounded, and the range of what it is multiplied with.
struct Rounded {
  std::string name, symbol;
  tune::FakeQuantizedAttr facts;
  std::string stem; ///< of the names of what its range becomes
};

ElementType typeOf(Format format) {
  return format == Format::UInt8  ? ElementType::UInt8
         : format == Format::Int4 ? ElementType::Int4
                                  : ElementType::Int8;
}

/// The first opset whose DequantizeLinear has it.
int64_t opsetFor(tune::FakeQuantizedAttr facts) {
  if (facts.getBlock() || facts.getFormat() == Format::Int4)
    return 21;
  return facts.getAxis() ? 13 : 10;
}

class IntegerGraph {
public:
  IntegerGraph(const model::Model &given, ModuleOp module) : graph{given, {}} {
    const auto opset = given.opsets.find("");
    version = opset == given.opsets.end() ? 0 : opset->second;
    for (auto state : module.getOps<train::StateOp>())
      if (auto facts = tune::fakeQuantizationOf(state))
        add(state, facts, module);
  }

  QuantizedGraph run() {
    for (const auto &[name, weight] : weights)
      becomeCodes(weight);
    std::map<std::string, std::string> weightOf; // value -> the weight that it is, maybe transposed
    for (const auto &[name, weight] : weights)
      weightOf[name] = name;
    for (model::Node &node : graph.model.graph.nodes) {
      if (node.is("Transpose") && weightOf.count(node.input(0)))
        weightOf[node.output(0)] = weightOf[node.input(0)];
      for (const std::string &input : node.inputs)
        if (!node.domain.empty() && weightOf.count(input))
          fail("{} reads '{}', and integers in it are not available yet", node.describe(), input);
      const bool isProduct = node.is("MatMul") || node.is("Gemm") || node.is("Conv");
      if (isProduct && weightOf.count(node.input(1)))
        roundInput(weights.at(weightOf[node.input(1)]), node);
      nodes.push_back(std::move(node));
    }
    graph.model.graph.nodes = std::move(nodes);
    return std::move(graph);
  }

private:
  void add(train::StateOp state, tune::FakeQuantizedAttr facts, ModuleOp module) {
    Rounded weight{state.getOnnxName().value_or(state.getSymName()).str(), state.getSymName().str(), facts,
                   ""};
    if (const int64_t needed = opsetFor(facts); version < needed)
      fail("the model has opset {}, but the integers of '{}' need opset {}; export the model again with that",
           version, weight.name, needed);
    if (facts.getMin()) {
      auto range = module.lookupSymbol<train::StateOp>(facts.getMin().getAttr());
      StringRef name = range.getOnnxName().value_or(range.getSymName());
      name.consume_back("_min");
      weight.stem = name.str();
    }
    if (!graph.model.graph.findInitializer(weight.name))
      fail("'{}' is no initializer of the model's graph: integers in its place are not available yet",
           weight.name);
    weights.emplace(weight.name, weight);
  }

  std::string make(const char *type, std::vector<std::string> inputs, const std::string &output,
                   std::vector<model::Attribute> attributes = {}) {
    model::Node node;
    node.opType = type;
    node.name = output + "." + type;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    node.opset = version;
    nodes.push_back(node);
    return output;
  }

  std::string addTensor(const std::string &name, ElementType type, std::vector<int64_t> dims,
                        const std::string &state, IntegerPart part) {
    if (!graph.elements.count(name)) {
      model::Tensor tensor = model::Tensor::makeFloats(name, {0}, {});
      tensor.dtype = type;
      tensor.dims = dims;
      graph.model.graph.initializers.push_back(tensor);
      graph.elements[name] = {state, type, std::move(dims), std::move(part)};
    }
    return name;
  }

  static IntegerPart partOf(IntegerPart::Kind kind, Format format) {
    const adapters::IntegerGrid grid = adapters::gridOf(format);
    return {kind, grid.low, grid.high, -1, 0, ""};
  }

  static std::vector<int64_t> scaleDims(const std::vector<int64_t> &dims, const IntegerPart &part) {
    if (part.axis < 0)
      return {};
    if (part.block == 0)
      return {dims[part.axis]};
    std::vector<int64_t> blocks = dims;
    blocks[part.axis] /= part.block;
    return blocks;
  }

  /// A node of the weight's name has its values, so that nobody who reads them changes.
  void becomeCodes(const Rounded &weight) {
    model::Graph &main = graph.model.graph;
    const std::vector<int64_t> dims = main.findInitializer(weight.name)->dims;
    main.initializers.eraseIf([&](const model::Tensor &tensor) { return tensor.name == weight.name; });
    std::erase_if(main.inputs, [&](const model::ValueInfo &input) { return input.name == weight.name; });
    const tune::FakeQuantizedAttr facts = weight.facts;
    const auto part = [&](IntegerPart::Kind kind) {
      IntegerPart part = partOf(kind, facts.getFormat());
      part.axis = facts.getAxis() ? facts.getAxis().getInt() : -1;
      part.block = facts.getBlock() ? facts.getBlock().getInt() : 0;
      return part;
    };
    const IntegerPart codes = part(IntegerPart::Kind::Codes);
    const ElementType type = typeOf(facts.getFormat());
    const std::vector<std::string> inputs = {
        addTensor(weight.name + "_quantized", type, dims, weight.symbol, codes),
        addTensor(weight.name + "_scale", ElementType::Float, scaleDims(dims, codes), weight.symbol,
                  part(IntegerPart::Kind::Scales)),
        // Zeros, too, where a grid is symmetric: ONNX Runtime turns such weights into uint8 by them.
        addTensor(weight.name + "_zero_point", type, scaleDims(dims, codes), weight.symbol,
                  part(IntegerPart::Kind::ZeroPoints))};
    std::vector<model::Attribute> attributes;
    if (codes.axis >= 0)
      attributes.push_back(model::Attribute::makeInt("axis", codes.axis));
    if (codes.block > 0)
      attributes.push_back(model::Attribute::makeInt("block_size", codes.block));
    make("DequantizeLinear", inputs, weight.name, attributes);
  }

  void roundInput(const Rounded &weight, model::Node &product) {
    if (!weight.facts.getMin())
      return;
    const std::string x = product.input(0), &stem = weight.stem;
    const std::string output = x + "." + stem + ".dequantized";
    product.inputs[0] = output;
    if (!made.insert(output).second)
      return;
    const Format format = weight.facts.getInput();
    const auto part = [&](IntegerPart::Kind kind) {
      IntegerPart part = partOf(kind, format);
      part.max = weight.facts.getMax().getValue().str();
      return part;
    };
    const std::string min = weight.facts.getMin().getValue().str();
    const std::string scale = addTensor(stem + "_scale", ElementType::Float, {}, min,
                                        part(IntegerPart::Kind::Scales)),
                      zero = addTensor(stem + "_zero_point", typeOf(format), {}, min,
                                       part(IntegerPart::Kind::ZeroPoints));
    const std::string codes = make("QuantizeLinear", {x, scale, zero}, x + "." + stem + ".quantized");
    make("DequantizeLinear", {codes, scale, zero}, output);
  }

  QuantizedGraph graph;
  int64_t version = 0;
  std::map<std::string, Rounded> weights;
  std::vector<model::Node> nodes;
  std::set<std::string> made;
};

} // namespace

bool roundsWeights(ModuleOp module) {
  return llvm::any_of(module.getOps<train::StateOp>(),
                      [](train::StateOp state) { return bool(tune::fakeQuantizationOf(state)); });
}

QuantizedGraph withIntegers(const model::Model &model, ModuleOp module) {
  return IntegerGraph(model, module).run();
}

} // namespace kedge::driver
