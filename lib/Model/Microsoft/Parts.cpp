#include "lib/Model/Microsoft/Parts.h"
#include "lib/Model/ModelCheck.h"
#include "lib/Model/ValueNames.h"
#include <algorithm>

namespace kedge::model {
namespace {

/// Operators whose result has the dimensions of their first input.
bool keepsRank(const Node &node) {
  static const std::set<std::string> known = {"Cast",
                                              "Identity",
                                              "Clip",
                                              "Neg",
                                              "Not",
                                              "Relu",
                                              "Sigmoid",
                                              "Transpose",
                                              "Softmax",
                                              "LayerNormalization",
                                              "RMSNormalization",
                                              "SkipLayerNormalization",
                                              "SkipSimplifiedLayerNormalization",
                                              "SimplifiedLayerNormalization",
                                              "BiasGelu",
                                              "FastGelu",
                                              "Gelu",
                                              "QuickGelu",
                                              "RotaryEmbedding",
                                              "MultiHeadAttention",
                                              "GroupQueryAttention",
                                              "MatMulNBits",
                                              "MoE",
                                              "QMoE",
                                              "Slice",
                                              "Concat",
                                              "Split"};
  return known.count(node.opType) && !node.inputs.empty();
}

/// Operators of com.microsoft whose weights are in few bits.
bool readsCodes(const Node &node) {
  return node.opType == "MatMulNBits" || node.opType == "GatherBlockQuantized" || node.opType == "QMoE";
}

/// Operators whose result has the dimensions of the larger one.
bool broadcasts(const Node &node) {
  static const std::set<std::string> known = {"Add", "Sub", "Mul", "Div", "MatMul", "Pow", "FusedMatMul"};
  return known.count(node.opType) && node.inputs.size() == 2;
}

/// Of a reduction that takes its axes away; nullopt where their number is not known.
std::optional<size_t> reducedAxes(const Node &node, const Tensor *axes) {
  if (node.attrInt("keepdims", 1) != 0)
    return 0;
  if (auto listed = node.attrIntsIf("axes"))
    return listed->size();
  return axes ? std::optional(static_cast<size_t>(axes->numElements())) : std::nullopt;
}

} // namespace

Surroundings::Surroundings(const Model &model) : model(model), used(definedBelow(model.graph)) {
  forEachNode(model.graph, [&](const Node &node) {
    reads.insert(node.inputs.begin(), node.inputs.end());
    if (!readsCodes(node))
      readElsewhere.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute &attribute : node.attributes)
      for (const std::shared_ptr<Graph> &graph : attribute.graphs)
        for (const ValueInfo &output : graph->outputs)
          reads.insert(output.name);
  });
  for (const Node &node : model.graph.nodes)
    for (const std::string &output : node.outputs)
      makers[output] = &node;
  for (const Tensor &tensor : model.graph.initializers)
    tensors[tensor.name] = &tensor;
  for (const ValueInfo &output : model.graph.outputs)
    reads.insert(output.name);
}

const Tensor *Surroundings::initializer(const std::string &value) const {
  const auto found = tensors.find(value);
  return found == tensors.end() ? nullptr : found->second;
}

const Tensor *Surroundings::constantOf(const std::string &value) const {
  if (const Tensor *tensor = initializer(value))
    return tensor;
  const auto maker = makers.find(value);
  return maker != makers.end() && maker->second->is("Constant") && maker->second->find("value")
             ? maker->second->attrTensorIf("value")
             : nullptr;
}

std::optional<size_t> Surroundings::rankOf(const std::string &value) const {
  if (const Tensor *tensor = initializer(value))
    return tensor->dims.size();
  if (const ValueInfo *info = model.graph.findValueInfo(value); info && info->hasShape)
    return info->dims.size();
  const auto maker = makers.find(value);
  if (maker == makers.end())
    return std::nullopt;
  const Node &node = *maker->second;
  if (keepsRank(node))
    return rankOf(node.inputs[0]);
  if (broadcasts(node)) {
    const auto a = rankOf(node.inputs[0]), b = rankOf(node.inputs[1]);
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  if (node.is("Reshape"))
    if (const Tensor *shape = constantOf(node.input(1)); shape && shape->dims.size() == 1)
      return static_cast<size_t>(shape->dims[0]);
  if (node.is("Gather")) {
    const auto table = rankOf(node.input(0)), indices = rankOf(node.input(1));
    return table && indices && *table > 0 ? std::optional(*table + *indices - 1) : std::nullopt;
  }
  if (node.is("ReduceSum") || node.is("ReduceMax")) {
    const auto rank = rankOf(node.input(0));
    const auto gone = reducedAxes(node, initializer(node.input(1)));
    return rank && gone && *gone <= *rank ? std::optional(*rank - *gone) : std::nullopt;
  }
  return std::nullopt;
}

/// The tensor keeps its name where nothing reads it as it was.
std::string Surroundings::retyped(const Tensor &tensor, ElementType type, std::vector<int64_t> dims) {
  if (tensor.dtype == type && tensor.dims == dims)
    return tensor.name;
  Tensor changed = tensor;
  changed.dtype = type;
  changed.dims = std::move(dims);
  if (changed.storage == Tensor::Storage::Encoded) {
    const Bytes plain = tensor.bytes();
    changed.owned = std::make_shared<const std::vector<uint8_t>>(plain.data, plain.data + plain.size);
    changed.storage = Tensor::Storage::Owned;
  }
  if (!readElsewhere.count(tensor.name)) {
    const Tensor &known = readAs.emplace(tensor.name, changed).first->second;
    if (known.dtype == changed.dtype && known.dims == changed.dims)
      return tensor.name;
  }
  changed.name = fresh(tensor.name + "/codes");
  changed.place = 0;
  made.push_back(changed);
  return changed.name;
}

std::string Surroundings::fresh(const std::string &wanted) { return freshName(wanted, used); }

size_t Parts::rankOf(size_t k) const {
  const auto rank = around.rankOf(in(k));
  if (!rank)
    refuse(fmt::format(
        "the number of dimensions of input {} ('{}') is not known; run onnx.shape_inference on the file", k,
        in(k)));
  return *rank;
}

Parts::Values Parts::makeSeveral(const std::string &op, size_t outputs, Values inputs,
                                 Attributes attributes) {
  Node made;
  made.opType = op;
  made.name = node.name;
  made.inputs = std::move(inputs);
  const std::string owner = node.name.empty() ? node.output(0) : node.name;
  for (size_t k = 0; k < outputs; ++k)
    made.outputs.push_back(around.fresh(owner + "/" + op));
  made.attributes = std::move(attributes);
  made.opset = newestOpset;
  made.id = node.id;
  made.metadata = node.metadata;
  nodes.push_back(std::move(made));
  return nodes.back().outputs;
}

std::string Parts::make(const std::string &op, Values inputs, Attributes attributes) {
  return makeSeveral(op, 1, std::move(inputs), std::move(attributes)).front();
}

void Parts::give(size_t k, const std::string &value) {
  if (!node.hasOutput(k))
    return;
  const bool isMade = std::any_of(nodes.begin(), nodes.end(), [&](const Node &made) {
    return std::find(made.outputs.begin(), made.outputs.end(), value) != made.outputs.end();
  });
  if (!isMade) {
    const std::string copy = make("Identity", {value});
    return give(k, copy);
  }
  for (Node &made : nodes) {
    std::replace(made.inputs.begin(), made.inputs.end(), value, node.output(k));
    std::replace(made.outputs.begin(), made.outputs.end(), value, node.output(k));
  }
}

std::string Parts::ints(const std::vector<int64_t> &values) {
  return make(
      "Constant", {},
      {Attribute::makeTensor("value", Tensor::makeInts("", {static_cast<int64_t>(values.size())}, values))});
}

std::string Parts::number(int64_t value) {
  return make("Constant", {}, {Attribute::makeTensor("value", Tensor::makeInts("", {}, {value}))});
}

std::string Parts::numberLike(double value, const std::string &like) {
  const std::string number =
      make("Constant", {},
           {Attribute::makeTensor("value", Tensor::makeFloats("", {}, {static_cast<float>(value)}))});
  return make("CastLike", {number, like});
}

std::string Parts::sizeOf(const std::string &value, int64_t axis) {
  return make("Shape", {value}, {Attribute::makeInt("start", axis), Attribute::makeInt("end", axis + 1)});
}

std::string Parts::addMaybe(const std::string &value, size_t k) {
  return has(k) ? make("Add", {value, in(k)}) : value;
}

std::string Parts::transposedLast(const std::string &value) {
  return make("Einsum", {value}, {Attribute::makeString("equation", "...ij->...ji")});
}

Parts::Values Parts::split(const std::string &value, int64_t axis, const std::vector<int64_t> &sizes) {
  return makeSeveral("Split", sizes.size(), {value, ints(sizes)}, {Attribute::makeInt("axis", axis)});
}

void Parts::takesOnly(size_t inputs, size_t outputs, std::initializer_list<const char *> attributes) const {
  for (size_t k = inputs; k < node.inputs.size(); ++k)
    if (has(k))
      refuse(fmt::format("its input {} ('{}') is not supported", k, in(k)));
  for (size_t k = outputs; k < node.outputs.size(); ++k)
    if (wants(k))
      refuse(fmt::format("its output {} ('{}') is not supported", k, node.output(k)));
  for (const Attribute &given : node.attributes)
    if (std::none_of(attributes.begin(), attributes.end(),
                     [&](const char *name) { return given.name == name; }))
      refuse(fmt::format("its attribute {} is not supported", given.name));
}

} // namespace kedge::model
