// Reading and changing one node; looking names up in a graph.
#include "lib/Model/Model.h"
#include "lib/Model/ShownName.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace kedge::model {

static const std::string emptyName;

const std::string &Node::input(size_t k) const { return k < inputs.size() ? inputs[k] : emptyName; }
const std::string &Node::output(size_t k) const { return k < outputs.size() ? outputs[k] : emptyName; }

const NodeDevices *Node::devicesFor(std::string_view configuration) const {
  for (const NodeDevices &own : devices)
    if (own.configuration == configuration)
      return &own;
  return nullptr;
}

const std::string &Node::tensorOf(const ShardingSpec &spec) const {
  const size_t k = static_cast<size_t>(spec.operand);
  return k < inputs.size() ? inputs[k] : output(k - inputs.size());
}

const Attribute *Node::find(std::string_view attribute) const {
  for (const Attribute &a : attributes)
    if (a.name == attribute)
      return &a;
  return nullptr;
}

Attribute *Node::find(std::string_view attribute) {
  return const_cast<Attribute *>(std::as_const(*this).find(attribute));
}

/// The attribute if it is there; an error if its kind is another.
static const Attribute *findOfKind(const Node &node, std::string_view name, Attribute::Kind kind) {
  const Attribute *a = node.find(name);
  if (!a)
    return nullptr;
  if (!a->refAttrName.empty())
    fail("{}: attribute '{}' refers to '{}' of a function that was not inlined", node.describe(), name,
         a->refAttrName);
  // An empty list may have been written without saying of what.
  if (a->kind != kind && a->kind != Attribute::Kind::Undefined)
    fail("{}: attribute '{}' should be of kind {}, found {}", node.describe(), name, attributeKindName(kind),
         attributeKindName(a->kind));
  return a;
}

static const Attribute &need(const Node &node, std::string_view name, Attribute::Kind kind) {
  const Attribute *a = findOfKind(node, name, kind);
  if (!a)
    fail("{}: attribute '{}' is missing; expected a {}", node.describe(), name, attributeKindName(kind));
  return *a;
}

int64_t Node::attrInt(std::string_view n) const { return need(*this, n, Attribute::Kind::Int).i; }
int64_t Node::attrInt(std::string_view n, int64_t otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Int);
  return a ? a->i : otherwise;
}

float Node::attrFloat(std::string_view n) const { return need(*this, n, Attribute::Kind::Float).f; }
/// A number that changes an operator; infinity stands for no bound, but NaN for nothing.
float Node::attrFloat(std::string_view n, float otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Float);
  if (a && std::isnan(a->f))
    fail("{}: attribute '{}' is NaN; expected a number", describe(), n);
  return a ? a->f : otherwise;
}

std::string Node::attrString(std::string_view n) const { return need(*this, n, Attribute::Kind::String).s; }
std::string Node::attrString(std::string_view n, std::string_view otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::String);
  return a ? a->s : std::string(otherwise);
}

std::vector<int64_t> Node::attrInts(std::string_view n) const {
  return need(*this, n, Attribute::Kind::Ints).ints;
}
std::vector<int64_t> Node::attrInts(std::string_view n, std::vector<int64_t> otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Ints);
  return a ? a->ints : otherwise;
}
std::optional<std::vector<int64_t>> Node::attrIntsIf(std::string_view n) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Ints);
  return a ? std::optional(a->ints) : std::nullopt;
}

std::vector<float> Node::attrFloats(std::string_view n, std::vector<float> otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Floats);
  return a ? a->floats : otherwise;
}

std::vector<std::string> Node::attrStrings(std::string_view n, std::vector<std::string> otherwise) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Strings);
  return a ? a->strings : otherwise;
}

const Tensor *Node::attrTensorIf(std::string_view n) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Tensor);
  return a && !a->tensors.empty() ? a->tensors.front().get() : nullptr;
}
const Tensor &Node::attrTensor(std::string_view n) const {
  if (const Tensor *tensor = attrTensorIf(n))
    return *tensor;
  fail("{}: attribute '{}' is missing; expected a tensor", describe(), n);
}

const Graph *Node::attrGraphIf(std::string_view n) const {
  const Attribute *a = findOfKind(*this, n, Attribute::Kind::Graph);
  return a && !a->graphs.empty() ? a->graphs.front().get() : nullptr;
}
const Graph &Node::attrGraph(std::string_view n) const {
  if (const Graph *graph = attrGraphIf(n))
    return *graph;
  fail("{}: attribute '{}' is missing; expected a graph", describe(), n);
}

void Node::set(Attribute attribute) {
  if (Attribute *old = find(attribute.name))
    *old = std::move(attribute);
  else
    attributes.push_back(std::move(attribute));
}

void Node::erase(std::string_view attribute) {
  std::erase_if(attributes, [&](const Attribute &a) { return a.name == attribute; });
}

const std::string &Node::meta(const std::string &key) const {
  auto entry = metadata.find(key);
  return entry == metadata.end() ? emptyName : entry->second;
}

std::string shownName(std::string_view name) {
  constexpr size_t kMost = 400;
  std::string shown(name.substr(0, kMost));
  for (size_t at = 0; (at = shown.find('\0', at)) != std::string::npos;)
    shown.replace(at, 1, "\\x00"); // which would end the message
  return name.size() > kMost ? fmt::format("{}... ({} bytes)", shown, name.size()) : shown;
}

std::string Node::describe() const {
  std::string type = shownName(domain.empty() ? opType : domain + "." + opType);
  if (!name.empty())
    return fmt::format("node '{}' ({})", shownName(name), type);
  for (const std::string &out : outputs)
    if (!out.empty())
      return fmt::format("node that makes '{}' ({})", shownName(out), type);
  return fmt::format("unnamed node ({})", type);
}

std::string Dim::str() const {
  return kind == Kind::Value ? std::to_string(value) : kind == Kind::Symbol ? symbol : "?";
}

std::string ValueInfo::describe() const {
  std::string shape;
  for (const Dim &d : dims)
    shape += (shape.empty() ? "" : " x ") + d.str();
  std::string_view container = kind == Kind::Sequence   ? "sequence of "
                               : kind == Kind::Optional ? "optional "
                               : kind == Kind::Map      ? "map to "
                                                        : "";
  return fmt::format("'{}' ({}{}[{}])", shownName(name), container, dtypeName(dtype),
                     hasShape ? shape : "any shape");
}

template <typename Range> static auto findByName(const Range &range, std::string_view name) {
  auto entry = std::find_if(range.begin(), range.end(), [&](const auto &item) { return item.name == name; });
  return entry == range.end() ? nullptr : &*entry;
}

const Tensor *Graph::findInitializer(std::string_view n) const { return initializers.find(n); }
const ValueInfo *Graph::findInput(std::string_view n) const { return findByName(inputs, n); }
const ValueInfo *Graph::findOutput(std::string_view n) const { return findByName(outputs, n); }
const ValueInfo *Graph::findValueInfo(std::string_view n) const {
  if (const ValueInfo *info = findInput(n))
    return info;
  if (const ValueInfo *info = findOutput(n))
    return info;
  return valueInfos.find(n);
}

std::vector<const ValueInfo *> Graph::feeds() const {
  std::vector<const ValueInfo *> result;
  for (const ValueInfo &input : inputs)
    if (!findInitializer(input.name))
      result.push_back(&input);
  return result;
}

void forEachNode(const Graph &graph, const std::function<void(const Node &)> &visit) {
  for (const Node &node : graph.nodes) {
    visit(node);
    for (const Attribute &a : node.attributes)
      for (const auto &sub : a.graphs)
        forEachNode(std::as_const(*sub), visit);
  }
}

void forEachNode(Graph &graph, const std::function<void(Node &)> &visit) {
  for (Node &node : graph.nodes) {
    visit(node);
    for (Attribute &a : node.attributes)
      for (auto &sub : a.graphs)
        forEachNode(*sub, visit);
  }
}

} // namespace kedge::model
