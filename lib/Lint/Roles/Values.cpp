#include "lib/Lint/Roles/Values.h"
#include "lib/Lint/OperatorFacts.h"
#include <algorithm>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

bool isOneOf(const Node &node, const std::set<std::string> &operators) {
  return node.domain.empty() && operators.count(node.opType) != 0;
}

bool isSumOrProduct(const Node &node) { return isOneOf(node, {"Add", "Sub", "Mul", "Div", "Sum"}); }

bool isMove(const Node &node) {
  static const std::set<std::string> ops = {"Identity", "Cast",      "CastLike",  "Reshape", "Squeeze",
                                            "Flatten",  "Unsqueeze", "Transpose", "Expand",  "Dropout"};
  return node.domain.empty() && ops.count(node.opType) != 0;
}

bool isPick(const Node &node) {
  static const std::set<std::string> ops = {"Slice", "Split", "Concat", "Pad", "Tile"};
  return isMove(node) || (node.domain.empty() && ops.count(node.opType) != 0);
}

std::vector<size_t> longAxes(const Dims &dims) {
  std::vector<size_t> axes;
  for (size_t fromLast = 0; fromLast < dims.size(); ++fromLast)
    if (dims[dims.size() - 1 - fromLast] != 1)
      axes.push_back(fromLast);
  return axes;
}

int64_t elementsOf(const Dims &dims) {
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d < 0)
      return -1;
    product *= d;
  }
  return product;
}

Values::Values(const Graph &graph) {
  const auto note = [&](const auto &infos) {
    for (const model::ValueInfo &info : infos)
      if (info.hasShape && info.kind == model::ValueInfo::Kind::Tensor) {
        Dims &dims = shapes[info.name];
        dims.clear();
        for (const model::Dim &d : info.dims)
          dims.push_back(d.isValue() ? d.value : -1);
      }
  };
  note(graph.inputs);
  note(graph.outputs);
  note(graph.valueInfos);
  for (const model::ValueInfo *feed : graph.feeds())
    inputs.insert(feed->name);
  for (const model::ValueInfo &output : graph.outputs)
    outputs.insert(output.name);
  auto learn = [&](const Graph &g) {
    for (const Tensor &tensor : g.initializers) {
      initializers.emplace(tensor.name, &tensor);
      constants.insert(tensor.name);
      shapes[tensor.name] = tensor.dims;
    }
  };
  learn(graph);
  model::forEachNode(graph, [&](const Node &node) {
    order.push_back(&node);
    for (const model::Attribute &attribute : node.attributes)
      for (const std::shared_ptr<Graph> &inner : attribute.graphs)
        learn(*inner);
  });
  for (const Node *node : order)
    visit(*node);
}

void Values::visit(const Node &node) {
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (!node.inputs[k].empty())
      reads[node.inputs[k]].push_back({&node, k});
  for (const std::string &output : node.outputs)
    makers[output] = &node;
  if (node.is("Loop") && node.has("body"))
    visitLoop(node);
  if (node.is("Constant")) {
    if (!node.has("sparse_value") && !node.has("value_string") && !node.has("value_strings")) {
      Tensor tensor = model::constantValue(node);
      shapes[node.output(0)] = tensor.dims;
      literals.emplace(node.output(0), std::move(tensor));
    }
    constants.insert(node.output(0));
    return;
  }
  static const std::set<std::string> draws = {"RandomNormal", "RandomUniform"};
  const bool owns = std::any_of(node.attributes.begin(), node.attributes.end(),
                                [](const model::Attribute &a) { return !a.graphs.empty(); });
  bool constant = !owns && !isRandom(node) && !draws.count(node.opType);
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (!node.inputs[k].empty() && !decidesShape(node, k))
      constant = constant && constants.count(node.inputs[k]) != 0;
  if (node.is("Shape") || node.is("Size"))
    constant = false;
  if (constant)
    constants.insert(node.outputs.begin(), node.outputs.end());
  if (!node.outputs.empty() && !shapes.count(node.output(0)))
    if (std::optional<Dims> dims = computedDims(node))
      shapes[node.output(0)] = std::move(*dims);
}

/// What a loop hands on unchanged is as constant within as it is outside.
void Values::visitLoop(const Node &loop) {
  const Graph &body = loop.attrGraph("body");
  std::map<std::string, std::string> same; // results of Identity
  for (const Node &node : body.nodes)
    if (node.is("Identity"))
      same[node.output(0)] = node.input(0);
  for (size_t k = 2; k < loop.inputs.size() && k < body.inputs.size() && k - 1 < body.outputs.size(); ++k) {
    const std::string &inner = body.inputs[k].name;
    std::string result = body.outputs[k - 1].name;
    for (auto at = same.find(result); at != same.end(); at = same.find(result))
      result = at->second;
    if (result != inner || !constants.count(loop.inputs[k]))
      continue;
    constants.insert(inner);
    if (std::optional<Dims> known = dims(loop.inputs[k]))
      shapes[inner] = *known;
  }
}

namespace {
Dims broadcast(const Dims &a, const Dims &b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < result.size(); ++k) {
    const int64_t left = k < a.size() ? a[a.size() - 1 - k] : 1,
                  right = k < b.size() ? b[b.size() - 1 - k] : 1;
    result[result.size() - 1 - k] = left == 1 ? right : right == 1 ? left : std::max(left, right);
  }
  return result;
}

std::optional<Dims> reshaped(const Dims &from, const Tensor &target) {
  if (!model::isInteger(target.dtype))
    return std::nullopt;
  Dims dims = target.ints();
  int64_t known = 1, open = -1;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 0)
      dims[k] = k < from.size() ? from[k] : -1;
    if (target.ints()[k] == -1)
      open = static_cast<int64_t>(k);
    else
      known = dims[k] < 0 || known < 0 ? -1 : known * dims[k];
  }
  const int64_t all = elementsOf(from);
  if (open >= 0)
    dims[static_cast<size_t>(open)] = all >= 0 && known > 0 ? all / known : -1;
  return dims;
}

/// Operators whose result has the shape of their first operand.
bool keepsShape(const Node &node) {
  static const std::set<std::string> ops = {
      "Identity", "Cast",    "CastLike", "Dropout",   "Relu",       "Tanh",
      "Sigmoid",  "Neg",     "Exp",      "Sqrt",      "Reciprocal", "Abs",
      "Erf",      "Softmax", "Softplus", "LeakyRelu", "Clip",       "LayerNormalization",
      "Gelu",     "Log",     "Elu",      "Selu",      "HardSwish",  "InstanceNormalization",
      "PRelu",    "Pow",     "Swish",    "Mish",      "LogSoftmax", "BatchNormalization"};
  return node.domain.empty() && ops.count(node.opType) != 0;
}
} // namespace

std::optional<Dims> Values::computedDims(const Node &node) const {
  if (!node.domain.empty() || node.inputs.empty())
    return std::nullopt;
  const std::optional<Dims> first = dims(node.input(0));
  if (!first)
    return std::nullopt;
  if (keepsShape(node))
    return first;
  const Tensor *second = node.hasInput(1) ? tensor(node.input(1)) : nullptr;
  if (node.is("Reshape") && second)
    return reshaped(*first, *second);
  if (node.is("Transpose")) {
    Dims reversed(first->rbegin(), first->rend());
    const std::vector<int64_t> perm = node.attrInts("perm", {});
    for (size_t k = 0; k < perm.size() && k < first->size(); ++k)
      reversed[k] = perm[k] >= 0 && perm[k] < static_cast<int64_t>(first->size())
                        ? (*first)[static_cast<size_t>(perm[k])]
                        : -1;
    return reversed;
  }
  static const std::set<std::string> binary = {"Add", "Sub", "Mul", "Div"};
  if (binary.count(node.opType))
    if (std::optional<Dims> other = dims(node.input(1)))
      return broadcast(*first, *other);
  if (node.is("MatMul"))
    if (std::optional<Dims> other = dims(node.input(1)); other && first->size() >= 2 && other->size() == 2) {
      Dims result = *first;
      result.back() = other->back();
      return result;
    }
  if (node.is("Unsqueeze") || node.is("Squeeze")) {
    const std::vector<int64_t> axes = second ? second->ints() : node.attrInts("axes", {});
    Dims result = *first;
    if (node.is("Squeeze") && axes.empty())
      return std::nullopt;
    const auto rank = static_cast<int64_t>(first->size() + (node.is("Unsqueeze") ? axes.size() : 0));
    std::set<int64_t> at;
    for (int64_t axis : axes)
      at.insert(axis < 0 ? axis + rank : axis);
    if (node.is("Unsqueeze")) {
      for (int64_t axis : at)
        if (axis <= static_cast<int64_t>(result.size()))
          result.insert(result.begin() + axis, 1);
    } else {
      for (auto axis = at.rbegin(); axis != at.rend(); ++axis)
        if (*axis < static_cast<int64_t>(result.size()))
          result.erase(result.begin() + *axis);
    }
    return result;
  }
  return std::nullopt;
}

const Node *Values::maker(const std::string &value) const {
  auto found = makers.find(value);
  return found == makers.end() ? nullptr : found->second;
}

const std::vector<Reader> &Values::readers(const std::string &value) const {
  static const std::vector<Reader> none;
  auto found = reads.find(value);
  return found == reads.end() ? none : found->second;
}

const Tensor *Values::tensor(const std::string &value) const {
  if (auto found = initializers.find(value); found != initializers.end())
    return found->second;
  auto found = literals.find(value);
  return found == literals.end() ? nullptr : &found->second;
}

std::optional<Dims> Values::dims(const std::string &value) const {
  auto found = shapes.find(value);
  return found == shapes.end() ? std::nullopt : std::optional(found->second);
}

bool Values::hasOneElement(const std::string &value) const {
  auto found = shapes.find(value);
  return found != shapes.end() && elementsOf(found->second) == 1;
}

const std::string &Values::behindMoves(const std::string &value) const {
  const std::string *at = &value;
  for (const Node *node = maker(*at); node && isMove(*node); node = maker(*at))
    at = &node->input(0);
  return *at;
}

} // namespace kedge::lint
