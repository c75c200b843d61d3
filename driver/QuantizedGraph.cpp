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
  std::string stem, outStem; ///< of the names of what its ranges become
  std::optional<exporter::NormStates> folded;
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
  using StateDims = std::vector<int64_t>;

public:
  IntegerGraph(const model::Model &given, ModuleOp module, adapters::IntegerForm form)
      : graph{given, {}, {}}, form(form) {
    const auto opset = given.opsets.find("");
    version = opset == given.opsets.end() ? 0 : opset->second;
    for (auto state : module.getOps<train::StateOp>())
      symbols[state.getOnnxName().value_or(state.getSymName()).str()] = state.getSymName().str();
    for (auto state : module.getOps<train::StateOp>())
      if (auto facts = tune::fakeQuantizationOf(state))
        add(state, facts, module);
  }

  QuantizedGraph run() {
    findProducts();
    for (const auto &[name, weight] : weights)
      if (!packs(weight))
        becomeCodes(weight);
    for (model::Node &node : graph.model.graph.nodes)
      if (!takeNorm(node)) {
        if (const Rounded *weight = weightOf(node)) {
          roundInput(*weight, node);
          noteOutput(*weight, node);
          if (packs(*weight)) {
            pack(*weight, node);
            continue;
          }
          madeBy[node.output(0)] = {nodes.size(), weight};
        } else if (node.is("Clip") && madeBy.count(node.input(0))) {
          readEnds(node);
        } else if (node.is("Add") && isValue(node.input(0)) && isValue(node.input(1))) {
          for (std::string &input : node.inputs)
            input = roundedForSum(input);
        }
        nodes.push_back(std::move(node));
      }
    graph.model.graph.nodes = std::move(nodes);
    for (const auto &[output, weight] : outputs)
      if (!made.count(roundedName(output, weight->outStem)))
        fail("the sum that reads '{}' is not where it was: integers in it are not available yet", output);
    if (form == adapters::IntegerForm::MatMulNBits && graph.operators.empty())
      fail("--qat-form matmulnbits: no int4 weight in blocks is read by products alone");
    dropUnused();
    return std::move(graph);
  }

private:
  /// The weight whose product a node is.
  const Rounded *weightOf(const model::Node &node) const {
    const bool isProduct = node.is("MatMul") || node.is("Gemm") || node.is("Conv");
    const auto found = isProduct ? names.find(node.input(1)) : names.end();
    return found == names.end() ? nullptr : &weights.at(found->second);
  }

  void findProducts() {
    for (const auto &[name, weight] : weights)
      names[name] = name;
    std::map<std::string, int> products;
    for (const model::Node &node : graph.model.graph.nodes) {
      if (node.is("Transpose") && names.count(node.input(0)))
        names[node.output(0)] = names[node.input(0)];
      if (node.is("Constant")) {
        constants.insert(node.output(0));
        const model::Tensor *value = node.attrTensorIf("value");
        if (node.has("value_float") || (value && value->dtype == ElementType::Float))
          floats.insert(node.output(0));
      }
      if (node.is("CastLike") && floats.count(node.input(0)))
        likeness[node.output(0)] = node.input(0);
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const std::string &input = node.inputs[k];
        ++reads[input];
        if (names.count(input) && !node.is("Transpose") && !(weightOf(node) && k == 1))
          readElsewhere.insert(names[input]);
        if (!node.domain.empty() && names.count(input))
          fail("{} reads '{}', and integers in it are not available yet", node.describe(), input);
      }
      if (const Rounded *weight = weightOf(node); weight && weight->facts.getSums())
        inputs[node.input(0)] = weight;
    }
    for (const model::ValueInfo &output : graph.model.graph.outputs)
      ++reads[output.name];
  }

  bool packs(const Rounded &weight) const {
    return form == adapters::IntegerForm::MatMulNBits && weight.facts.getBlock() &&
           weight.facts.getFormat() == Format::Int4 && !readElsewhere.count(weight.name);
  }

  /// MatMulNBits in the place of a product, and an Add for the bias of a Gemm.
  void pack(const Rounded &weight, const model::Node &product) {
    const int64_t block = weight.facts.getBlock().getInt(), axis = weight.facts.getAxis().getInt();
    if (block < 16 || (block & (block - 1)) != 0)
      fail(
          "--qat-form matmulnbits: ONNX Runtime wants blocks of 16, 32, 64 and so on, --qat-block {} is none",
          block);
    if (product.is("Gemm") && (product.attrFloat("alpha", 1) != 1 || product.attrFloat("beta", 1) != 1 ||
                               product.attrBool("transA", false)))
      fail("--qat-form matmulnbits: {} has an alpha, beta or transA, which is not available yet",
           product.describe());
    const std::vector<int64_t> dims = packedDims(weight);
    const bool hasBias = product.is("Gemm") && product.hasInput(2);
    const std::string &y = product.output(0);
    IntegerPart part = partOf(IntegerPart::Kind::Packed, Format::Int4);
    part.axis = axis;
    part.block = block;
    const std::string codes =
        addTensor(weight.name + "_packed", ElementType::UInt8, dims, weight.symbol, part);
    part.kind = IntegerPart::Kind::PackedScales;
    const std::string scales = addTensor(weight.name + "_packed_scale", ElementType::Float,
                                         {dims[0] * dims[1]}, weight.symbol, part);
    const std::string result =
        make("MatMulNBits", {product.input(0), codes, scales}, hasBias ? y + ".product" : y,
             {model::Attribute::makeInt("K", dims[1] * block), model::Attribute::makeInt("N", dims[0]),
              model::Attribute::makeInt("bits", 4), model::Attribute::makeInt("block_size", block),
              model::Attribute::makeInt("accuracy_level", 1)});
    nodes.back().domain = "com.microsoft";
    nodes.back().opset = 1;
    graph.operators["com.microsoft"] = 1;
    if (hasBias)
      make("Add", {result, product.input(2)}, y);
  }

  /// Outputs, blocks of each, bytes of a block.
  std::vector<int64_t> packedDims(const Rounded &weight) const {
    const int64_t block = weight.facts.getBlock().getInt();
    const size_t axis = static_cast<size_t>(weight.facts.getAxis().getInt());
    const std::vector<int64_t> &dims = graph.model.graph.findInitializer(weight.name)->dims;
    return {dims[1 - axis], dims[axis] / block, block / 2};
  }

  bool isValue(const std::string &name) const {
    return !constants.count(name) && !names.count(name) && !graph.model.graph.findInitializer(name);
  }

  /// A BatchNormalization behind a product: taken away, and its result becomes the product's, where the
  /// weight holds it.
  bool takeNorm(const model::Node &node) {
    if (!node.is("BatchNormalization") || reads[node.input(0)] != 1)
      return false;
    const auto product = madeBy.find(node.input(0));
    if (product == madeBy.end())
      return false;
    const auto [at, weight] = product->second;
    if (weight->folded) {
      nodes[at].outputs[0] = node.output(0);
      madeBy[node.output(0)] = product->second;
    }
    if (weight->facts.getOutMin()) {
      outputs.erase(node.input(0));
      outputs[node.output(0)] = weight;
    }
    return weight->folded.has_value();
  }

  void noteOutput(const Rounded &weight, model::Node &product) {
    if (weight.facts.getOutMin())
      outputs[product.output(0)] = &weight;
    if (weight.facts.getMin() && !weight.facts.getBlock() && isAlone(product))
      return roundBias(weight, product);
    if (!weight.folded)
      return;
    IntegerPart part;
    part.kind = IntegerPart::Kind::Bias;
    part.norm = weight.folded;
    setBias(product,
            addTensor(weight.name + "_folded_bias", ElementType::Float,
                      {graph.elements.at(weight.name + "_quantized").dims.at(0)}, weight.folded->bias, part));
  }

  static void setBias(model::Node &product, const std::string &bias) {
    product.inputs.resize(3);
    product.inputs[2] = bias;
  }

  static bool isAlone(const model::Node &product) {
    return product.is("Conv") ||
           (product.is("Gemm") && product.attrFloat("alpha", 1) == 1 && product.attrFloat("beta", 1) == 1);
  }

  /// The rule of kedge-round-biases.
  void roundBias(const Rounded &weight, model::Node &product) {
    const model::Tensor *own =
        product.hasInput(2) ? graph.model.graph.findInitializer(product.input(2)) : nullptr;
    if (!weight.folded && (!own || own->dims.size() != 1 || !symbols.count(own->name)))
      return;
    const FlatSymbolRefAttr learned = weight.facts.getLearned();
    IntegerPart part = partOf(IntegerPart::Kind::Bias, weight.facts.getFormat());
    const adapters::IntegerGrid input = adapters::gridOf(weight.facts.getInput());
    part.axis = weight.facts.getAxis() ? weight.facts.getAxis().getInt() : -1;
    part.norm = weight.folded;
    part.min = weight.facts.getMin().getValue().str();
    part.max = weight.facts.getMax().getValue().str();
    part.learned = learned ? learned.getValue().str() : "";
    part.bias = own ? symbols.at(own->name) : "";
    part.inputLow = input.low;
    part.inputHigh = input.high;
    const StateDims &dims = graph.elements.at(weight.name + "_quantized").dims;
    const int64_t count = part.axis >= 0 ? dims.at(static_cast<size_t>(part.axis))
                          : own          ? own->dims[0]
                                         : dims[0];
    const std::string codes =
        addTensor(weight.name + "_bias_quantized", ElementType::Int32, {count}, weight.symbol, part);
    part.kind = IntegerPart::Kind::BiasScales;
    const StateDims scaleDims = part.axis >= 0 ? StateDims{count} : StateDims{};
    const std::string scales =
        addTensor(weight.name + "_bias_scale", ElementType::Float, scaleDims, weight.symbol, part);
    std::vector<model::Attribute> attributes;
    if (part.axis >= 0)
      attributes.push_back(model::Attribute::makeInt("axis", 0));
    const std::string bias = weight.name + "_bias";
    if (made.insert(bias).second)
      make("DequantizeLinear", {codes, scales}, bias, attributes);
    setBias(product, bias);
  }

  /// ONNX Runtime takes a Clip into the integers if its ends are constants; exporters write constants like x.
  void readEnds(model::Node &clip) {
    for (size_t k = 1; k < clip.inputs.size(); ++k)
      if (const auto found = likeness.find(clip.inputs[k]); found != likeness.end())
        clip.inputs[k] = found->second;
  }

  std::string roundedForSum(const std::string &x) {
    if (const auto found = outputs.find(x); found != outputs.end())
      return round(x, found->second->outStem, found->second->facts.getOutMin(),
                   found->second->facts.getOutMax(), "", found->second->facts.getInput());
    const auto found = inputs.find(x);
    return found == inputs.end() ? x : roundInputOf(*found->second, x);
  }

  /// Nodes and initializers that the norms took with them: those that were read before and are not now.
  void dropUnused() {
    model::Graph &main = graph.model.graph;
    for (size_t before = 0; before != main.nodes.size();) {
      before = main.nodes.size();
      std::set<std::string> read;
      for (const model::Node &node : main.nodes) {
        read.insert(node.inputs.begin(), node.inputs.end());
        for (const model::Attribute &attribute : node.attributes)
          if (!attribute.graphs.empty())
            return; // what is read inside is not looked for
      }
      for (const model::ValueInfo &output : main.outputs)
        read.insert(output.name);
      const auto isUnused = [&](const std::string &name) { return reads.count(name) && !read.count(name); };
      std::erase_if(main.nodes,
                    [&](const model::Node &node) { return llvm::all_of(node.outputs, isUnused); });
      main.initializers.eraseIf([&](const model::Tensor &tensor) { return isUnused(tensor.name); });
      std::erase_if(main.inputs, [&](const model::ValueInfo &input) {
        return names.count(input.name) && isUnused(input.name);
      });
    }
  }

  void add(train::StateOp state, tune::FakeQuantizedAttr facts, ModuleOp module) {
    Rounded weight{state.getOnnxName().value_or(state.getSymName()).str(),
                   state.getSymName().str(),
                   facts,
                   "",
                   "",
                   normOf(state)};
    weight.stem = stemOf(facts.getMin(), module);
    weight.outStem = stemOf(facts.getOutMin(), module);
    if (!graph.model.graph.findInitializer(weight.name))
      fail("'{}' is no initializer of the model's graph: integers in its place are not available yet",
           weight.name);
    weights.emplace(weight.name, weight);
  }

  static std::string stemOf(FlatSymbolRefAttr min, ModuleOp module) {
    if (!min)
      return "";
    auto range = module.lookupSymbol<train::StateOp>(min.getAttr());
    StringRef name = range.getOnnxName().value_or(range.getSymName());
    name.consume_back("_min");
    return name.str();
  }

  static std::optional<exporter::NormStates> normOf(train::StateOp state) {
    const auto norm = tune::foldedNormOf(state);
    if (!norm)
      return {};
    const FlatSymbolRefAttr product = norm.getProductBias();
    return exporter::NormStates{
        norm.getScale().getValue().str(),        norm.getBias().getValue().str(),
        norm.getMean().getValue().str(),         norm.getVariance().getValue().str(),
        product ? product.getValue().str() : "", norm.getEpsilon().getValueAsDouble()};
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
    return {kind, grid.low, grid.high, -1, 0, "", "", {}};
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
    if (const int64_t needed = opsetFor(weight.facts); version < needed)
      fail("the model has opset {}, but the integers of '{}' need opset {}; export the model again with that",
           version, weight.name, needed);
    model::Graph &main = graph.model.graph;
    const std::vector<int64_t> dims = main.findInitializer(weight.name)->dims;
    main.initializers.eraseIf([&](const model::Tensor &tensor) { return tensor.name == weight.name; });
    std::erase_if(main.inputs, [&](const model::ValueInfo &input) { return input.name == weight.name; });
    const tune::FakeQuantizedAttr facts = weight.facts;
    const auto part = [&](IntegerPart::Kind kind) {
      IntegerPart part = partOf(kind, facts.getFormat());
      part.axis = facts.getAxis() ? facts.getAxis().getInt() : -1;
      part.block = facts.getBlock() ? facts.getBlock().getInt() : 0;
      part.norm = weight.folded;
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
    if (weight.facts.getMin())
      product.inputs[0] = roundInputOf(weight, product.input(0));
  }

  std::string roundInputOf(const Rounded &weight, const std::string &x) {
    const FlatSymbolRefAttr learned = weight.facts.getLearned();
    return round(x, weight.stem, weight.facts.getMin(), weight.facts.getMax(),
                 learned ? learned.getValue().str() : "", weight.facts.getInput());
  }

  static std::string roundedName(const std::string &x, const std::string &stem) {
    return x + "." + stem + ".dequantized";
  }

  std::string round(const std::string &x, const std::string &stem, FlatSymbolRefAttr min,
                    FlatSymbolRefAttr max, const std::string &learned, Format format) {
    const std::string output = roundedName(x, stem);
    if (!made.insert(output).second)
      return output;
    const auto part = [&](IntegerPart::Kind kind) {
      IntegerPart part = partOf(kind, format);
      part.max = max.getValue().str();
      part.learned = kind == IntegerPart::Kind::Scales ? learned : "";
      return part;
    };
    const std::string state = min.getValue().str();
    const std::string scale = addTensor(stem + "_scale", ElementType::Float, {}, state,
                                        part(IntegerPart::Kind::Scales)),
                      zero = addTensor(stem + "_zero_point", typeOf(format), {}, state,
                                       part(IntegerPart::Kind::ZeroPoints));
    const std::string codes = make("QuantizeLinear", {x, scale, zero}, x + "." + stem + ".quantized");
    return make("DequantizeLinear", {codes, scale, zero}, output);
  }

  QuantizedGraph graph;
  int64_t version = 0;
  std::map<std::string, Rounded> weights;
  std::vector<model::Node> nodes;
  adapters::IntegerForm form;
  std::set<std::string> made, constants, floats, readElsewhere;
  std::map<std::string, std::string> symbols;  ///< name in the file -> state
  std::map<std::string, std::string> names;    ///< value -> the weight that it is, maybe transposed
  std::map<std::string, std::string> likeness; ///< of constants that are cast to the type of a value -> them
  std::map<std::string, int> reads;
  std::map<std::string, const Rounded *> inputs, outputs;           ///< values that sums read rounded
  std::map<std::string, std::pair<size_t, const Rounded *>> madeBy; ///< result -> product among `nodes`
};

} // namespace

bool roundsWeights(ModuleOp module) {
  return llvm::any_of(module.getOps<train::StateOp>(),
                      [](train::StateOp state) { return bool(tune::fakeQuantizationOf(state)); });
}

QuantizedGraph withIntegers(const model::Model &model, ModuleOp module, adapters::IntegerForm form) {
  return IntegerGraph(model, module, form).run();
}

} // namespace kedge::driver
