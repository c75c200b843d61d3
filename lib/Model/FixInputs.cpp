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

struct Values {
  std::vector<uint8_t> bytes;
  int64_t count = 0;
};

/// "1,4,4"
std::optional<Values> valuesOf(const std::string &text, ElementType type) {
  Values values;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const auto bytes = valueOf(text.substr(at, end - at), type);
    if (!bytes)
      return std::nullopt;
    values.bytes.insert(values.bytes.end(), bytes->begin(), bytes->end());
    ++values.count;
    at = end + 1;
  }
  return values;
}

/// The input's shape with so many elements; nullopt where they do not fill it. One open dimension follows
/// from the others.
std::optional<std::vector<int64_t>> shapeOf(const ValueInfo &input, const Values &values,
                                            const std::vector<int64_t> *given) {
  std::vector<int64_t> dims = given ? *given : std::vector<int64_t>();
  if (!given) {
    for (const Dim &dim : input.dims)
      dims.push_back(dim.isValue() ? dim.value : values.count == 1 ? 1 : -1);
    int64_t known = 1;
    for (int64_t size : dims)
      known *= size < 0 ? 1 : size;
    if (std::count(dims.begin(), dims.end(), -1) == 1 && known > 0)
      *std::find(dims.begin(), dims.end(), -1) = values.count / known;
  }
  int64_t count = 1;
  for (int64_t size : dims)
    count *= size;
  bool fits = count == values.count && (!input.hasShape || dims.size() == input.dims.size());
  for (size_t axis = 0; fits && axis < input.dims.size(); ++axis)
    fits = !input.dims[axis].isValue() || input.dims[axis].value == dims[axis];
  return fits ? std::optional(dims) : std::nullopt;
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

void fixInput(Model &model, const std::string &input, const std::string &text,
              const std::vector<int64_t> *shape) {
  Graph &graph = model.graph;
  auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                            [&](const ValueInfo &info) { return info.name == input; });
  if (found == graph.inputs.end())
    fail("{}: --value names '{}', which is no input; the inputs are: {}", model.path, input,
         listOf(graph.inputs));
  auto given = found->kind == ValueInfo::Kind::Tensor ? valuesOf(text, found->dtype) : std::nullopt;
  if (!given)
    fail("{}: --value {}={}: that is no value of input {}; expected {}", model.path, input, text,
         found->describe(),
         found->dtype == ElementType::Bool
             ? "true or false"
             : fmt::format("a number, as in --value {0}=16000, or numbers, {0}=1,4,4", input));
  const auto dims = shapeOf(*found, *given, shape);
  if (!dims)
    fail("{}: --value {}={}: expected the elements of input {}, found {}{}", model.path, input, text,
         found->describe(), given->count, shape ? "" : "; --shape says how long its dimensions are");
  Node constant;
  constant.opType = "Constant";
  constant.name = input;
  constant.outputs = {input};
  constant.attributes = {
      Attribute::makeTensor("value", Tensor::make(input, found->dtype, *dims, std::move(given->bytes)))};
  constant.opset = model.opsets.count("") ? model.opsets.at("") : 13;
  graph.inputs.erase(found);
  graph.initializers.eraseIf([&](const Tensor &tensor) { return tensor.name == input; });
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
