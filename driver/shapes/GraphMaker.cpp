#include "driver/shapes/GraphMaker.h"
#include <fmt/ranges.h>
#include <numeric>
#include <utility>

namespace kedge::driver::shapes {
namespace {

constexpr int64_t opset = 23, irVersion = 10;

/// As Python prints it, which is how PyTorch's exporter writes lists.
std::string listOf(const std::vector<std::string> &words, const std::string &last) {
  return fmt::format("['{}', '{}']", fmt::join(words, "', '"), last);
}

model::ValueInfo tensorInfo(const std::string &name, model::ElementType type,
                            const std::vector<model::Dim> &shape) {
  model::ValueInfo info;
  info.name = name;
  info.kind = model::ValueInfo::Kind::Tensor;
  info.dtype = type;
  info.hasShape = true;
  info.dims = shape;
  return info;
}

} // namespace

GraphMaker::Module::Module(GraphMaker &graph, const std::string &path, const std::string &kind)
    : graph(graph) {
  graph.paths.push_back(path);
  graph.kinds.push_back(kind);
}

GraphMaker::Module::~Module() {
  graph.paths.pop_back();
  graph.kinds.pop_back();
}

GraphMaker::Values GraphMaker::ops(const std::string &kind, const Values &inputs, size_t outputs,
                                   const Attributes &attributes) {
  model::Node node;
  for (size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(fmt::format("v{}", values++));
  node.opType = kind;
  node.name = kind + "_" + node.outputs.front();
  node.inputs = inputs;
  node.attributes = attributes;
  node.metadata["pkg.torch.onnx.name_scopes"] = listOf(paths, node.name);
  node.metadata["pkg.torch.onnx.class_hierarchy"] = listOf(kinds, kind);
  made.graph.nodes.push_back(std::move(node));
  return made.graph.nodes.back().outputs;
}

GraphMaker::Value GraphMaker::op(const std::string &kind, const Values &inputs,
                                 const Attributes &attributes) {
  return ops(kind, inputs, 1, attributes).front();
}

GraphMaker::Value GraphMaker::parameter(const std::string &name, const std::vector<int64_t> &shape) {
  model::Tensor tensor;
  tensor.name = name;
  tensor.dtype = model::ElementType::Float;
  tensor.dims = shape;
  tensor.storage = model::Tensor::Storage::External;
  tensor.externalLocation = "weights.bin";
  tensor.offset = weightBytes;
  tensor.length = tensor.byteSize();
  weightBytes += tensor.length;
  made.graph.initializers.push_back(std::move(tensor));
  return name;
}

GraphMaker::Value GraphMaker::keep(model::Tensor constant) {
  constant.name = fmt::format("c{}", values++);
  made.graph.initializers.push_back(std::move(constant));
  return made.graph.initializers.back().name;
}

GraphMaker::Value GraphMaker::integer(int64_t value) {
  return keep(model::Tensor::makeInts("", {1}, {value}));
}

GraphMaker::Value GraphMaker::filled(const std::vector<int64_t> &shape, float value) {
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return keep(model::Tensor::makeFloats("", shape, std::vector<float>(count, value)));
}

GraphMaker::Value GraphMaker::linear(const Value &x, const std::string &name, int64_t fanIn, int64_t fanOut,
                                     bool bias) {
  const Value y = op("MatMul", {x, parameter(name + ".weight", {fanIn, fanOut})});
  return bias ? op("Add", {y, parameter(name + ".bias", {fanOut})}) : y;
}

GraphMaker::Value GraphMaker::layerNorm(const Value &x, const std::string &name, int64_t width) {
  return op("LayerNormalization",
            {x, parameter(name + ".weight", {width}), parameter(name + ".bias", {width})},
            {model::Attribute::makeInt("axis", -1)});
}

GraphMaker::Value GraphMaker::rmsNorm(const Value &x, const std::string &name, int64_t width) {
  return op("RMSNormalization", {x, parameter(name + ".weight", {width})},
            {model::Attribute::makeInt("axis", -1)});
}

void GraphMaker::input(const std::string &name, model::ElementType type,
                       const std::vector<model::Dim> &shape) {
  made.graph.inputs.push_back(tensorInfo(name, type, shape));
}

model::Model GraphMaker::finish(const Value &output, const std::vector<model::Dim> &shape) {
  made.irVersion = irVersion;
  made.producer = "kedge shapes";
  made.opsets[""] = opset;
  made.graph.name = "shapes";
  made.usesExternalData = true;
  made.graph.outputs.push_back(tensorInfo(output, model::ElementType::Float, shape));
  return std::move(made);
}

} // namespace kedge::driver::shapes
