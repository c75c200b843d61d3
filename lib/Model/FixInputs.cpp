// Inputs with known values, values that become outputs, and loops that carry constants around.
#include "lib/Model/Specialize.h"
#include "lib/Model/ValueNames.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <charconv>
#include <cstring>

namespace kedge::model {
namespace {

template <typename T> std::vector<uint8_t> bytesOf(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T> std::optional<T> numberIn(const std::string &text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

template <typename T> std::optional<std::vector<uint8_t>> encode(const std::string &text) {
  auto value = numberIn<T>(text);
  return value ? std::optional(bytesOf(*value)) : std::nullopt;
}

/// nullopt: no value of this type.
std::optional<std::vector<uint8_t>> valueOf(const std::string &text, ElementType type) {
  switch (type) {
  case ElementType::Bool:
    if (text == "true" || text == "1")
      return bytesOf<uint8_t>(1);
    return text == "false" || text == "0" ? std::optional(bytesOf<uint8_t>(0)) : std::nullopt;
  case ElementType::Int8:
    return encode<int8_t>(text);
  case ElementType::Int16:
    return encode<int16_t>(text);
  case ElementType::Int32:
    return encode<int32_t>(text);
  case ElementType::Int64:
    return encode<int64_t>(text);
  case ElementType::UInt8:
    return encode<uint8_t>(text);
  case ElementType::UInt16:
    return encode<uint16_t>(text);
  case ElementType::UInt32:
    return encode<uint32_t>(text);
  case ElementType::UInt64:
    return encode<uint64_t>(text);
  case ElementType::Float:
    return encode<float>(text);
  case ElementType::Double:
    return encode<double>(text);
  default:
    return std::nullopt;
  }
}

std::string listOf(const std::vector<ValueInfo> &values) {
  std::string text;
  for (const ValueInfo &value : values)
    text += (text.empty() ? "" : ", ") + value.describe();
  return text;
}

/// What a body hands on as it got it: its name within -> the name outside.
NewNames carriedUnchanged(const Node &loop, const Graph &body) {
  std::map<std::string, std::string> copies;
  for (const Node &node : body.nodes)
    if (node.is("Identity"))
      copies[node.output(0)] = node.input(0);
  NewNames names;
  for (size_t k = 2; k < loop.inputs.size() && k < body.inputs.size() && k - 1 < body.outputs.size(); ++k) {
    std::string handed = body.outputs[k - 1].name;
    for (auto copy = copies.find(handed); copy != copies.end(); copy = copies.find(handed))
      handed = copy->second;
    if (handed == body.inputs[k].name && loop.hasInput(k))
      names[handed] = loop.inputs[k];
  }
  return names;
}

void readLoopConstants(Graph &graph) {
  for (Node &node : graph.nodes)
    for (Attribute &attribute : node.attributes)
      for (std::shared_ptr<Graph> &inner : attribute.graphs) {
        auto body = std::make_shared<Graph>(*inner);
        const NewNames names = node.is("Loop") ? carriedUnchanged(node, *body) : NewNames();
        for (Node &reader : body->nodes)
          renameReads(reader, names);
        readLoopConstants(*body);
        inner = std::move(body);
      }
}

} // namespace

void fixInput(Model &model, const std::string &input, const std::string &text) {
  Graph &graph = model.graph;
  auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                            [&](const ValueInfo &info) { return info.name == input; });
  if (found == graph.inputs.end())
    fail("{}: --value names '{}', which is no input; the inputs are: {}", model.path, input,
         listOf(graph.inputs));
  std::vector<int64_t> dims;
  for (const Dim &dim : found->dims) {
    if (dim.isValue() && dim.value != 1)
      fail("{}: --value {}={}: expected an input of one element, found {}; its data come with --data",
           model.path, input, text, found->describe());
    dims.push_back(1);
  }
  auto bytes = found->kind == ValueInfo::Kind::Tensor ? valueOf(text, found->dtype) : std::nullopt;
  if (!bytes)
    fail("{}: --value {}={}: that is no value of input {}; expected {}", model.path, input, text,
         found->describe(),
         found->dtype == ElementType::Bool ? "true or false" : "a number, as in --value " + input + "=16000");
  Node constant;
  constant.opType = "Constant";
  constant.name = input;
  constant.outputs = {input};
  constant.attributes = {
      Attribute::makeTensor("value", Tensor::make(input, found->dtype, dims, std::move(*bytes)))};
  constant.opset = model.opsets.count("") ? model.opsets.at("") : 13;
  graph.inputs.erase(found);
  std::erase_if(graph.initializers, [&](const Tensor &tensor) { return tensor.name == input; });
  graph.nodes.insert(graph.nodes.begin(), std::move(constant));
}

void readLoopConstants(Model &model) { readLoopConstants(model.graph); }

void addOutput(Model &model, const std::string &value) {
  Graph &graph = model.graph;
  if (value.empty() || graph.findOutput(value))
    return;
  const bool isMade = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node &node) {
    return std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end();
  });
  if (!isMade)
    return;
  const ValueInfo *known = graph.findValueInfo(value);
  ValueInfo output = known ? *known : ValueInfo();
  output.name = value;
  if (output.kind == ValueInfo::Kind::Untyped)
    output.kind = ValueInfo::Kind::Tensor;
  if (output.dtype == ElementType::Undefined)
    output.dtype = ElementType::Float;
  output.place = 0;
  graph.outputs.push_back(std::move(output));
}

} // namespace kedge::model
