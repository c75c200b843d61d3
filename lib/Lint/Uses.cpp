#include "lib/Lint/Uses.h"
#include "lib/Lint/Lint.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

namespace {
struct Places {
  int input, weight, bias, mean = -1, variance = -1;
};

const std::map<std::string, Places> &placesByTarget() {
  static const std::map<std::string, Places> table = {
      {"linear", {0, 1, 2}},
      {"addmm", {1, 2, 0}},
      {"conv1d", {0, 1, 2}},
      {"conv2d", {0, 1, 2}},
      {"conv3d", {0, 1, 2}},
      {"convolution", {0, 1, 2}},
      {"_convolution", {0, 1, 2}},
      {"conv_transpose1d", {0, 1, 2}},
      {"conv_transpose2d", {0, 1, 2}},
      {"conv_transpose3d", {0, 1, 2}},
      {"layer_norm", {0, 2, 3}},
      {"native_layer_norm", {0, 2, 3}},
      {"rms_norm", {0, 2, -1}},
      {"_fused_rms_norm", {0, 2, -1}},
      {"group_norm", {0, 2, 3}},
      {"native_group_norm", {0, 1, 2}},
      {"instance_norm", {0, 1, 2, 3, 4}},
      {"batch_norm", {0, 1, 2, 3, 4}},
      {"_batch_norm_impl_index", {0, 1, 2, 3, 4}},
      {"native_batch_norm", {0, 1, 2, 3, 4}},
      {"_native_batch_norm_legit", {0, 1, 2, 3, 4}},
      {"_native_batch_norm_legit_functional", {0, 1, 2, 3, 4}},
      {"_native_batch_norm_legit_no_training", {0, 1, 2, 3, 4}},
      {"_batch_norm_with_update", {0, 1, 2, 3, 4}},
      {"_batch_norm_with_update_functional", {0, 1, 2, 3, 4}},
      {"_batch_norm_no_update", {0, 1, 2, 3, 4}},
      {"cudnn_batch_norm", {0, 1, 2, 3, 4}},
      {"embedding", {1, 0, -1}},
      {"prelu", {0, 1, -1}},
      {"_prelu_kernel", {0, 1, -1}},
  };
  return table;
}

/// PyTorch functions whose arguments are the operands of one ONNX operator, in order.
bool isPositional(const std::string &target, const std::string &op) {
  static const std::map<std::string, std::string> table = {
      {"add", "Add"},
      {"sub", "Sub"},
      {"mul", "Mul"},
      {"div", "Div"},
      {"matmul", "MatMul"},
      {"mm", "MatMul"},
      {"bmm", "MatMul"},
      {"maximum", "Max"},
      {"minimum", "Min"},
      {"pow", "Pow"},
      {"where", "Where"},
      {"expand", "Expand"},
      {"index_select", "Gather"},
      {"slice", "Slice"},
      {"select", "Gather"},
      {"t", "Transpose"},
      {"transpose", "Transpose"},
      {"permute", "Transpose"},
      {"exp", "Exp"},
      {"neg", "Neg"},
      {"sigmoid", "Sigmoid"},
      {"tanh", "Tanh"},
      {"softplus", "Softplus"},
      {"unsqueeze", "Unsqueeze"},
      {"view", "Reshape"},
      {"reshape", "Reshape"},
  };
  auto found = table.find(target);
  return found != table.end() && found->second == op;
}

bool isPlaceholder(const std::string &name) {
  return Signature::isParameter(name) || Signature::isBuffer(name);
}

/// What an argument says of the operand in its place.
std::optional<std::string> fromArgument(const FxArgument &argument) {
  if (argument.refs.empty())
    return ""; // a number, None, a list of numbers
  std::string value = argument.value();
  return isPlaceholder(value) ? std::optional(value)
                              : std::nullopt; // a computed value may be an alias of anything
}

/// Rank 0 in a decomposed call is an epsilon or an exponent, never a weight.
bool isVectorOrMore(const Tensor &tensor) { return !tensor.dims.empty() && model::isFloat(tensor.dtype); }
} // namespace

std::optional<size_t> argumentOf(const std::string &target, Role role) {
  auto found = placesByTarget().find(target);
  if (found == placesByTarget().end())
    return std::nullopt;
  const Places &places = found->second;
  int place = role == Role::Input      ? places.input
              : role == Role::Weight   ? places.weight
              : role == Role::Bias     ? places.bias
              : role == Role::Mean     ? places.mean
              : role == Role::Variance ? places.variance
                                       : -1;
  return place < 0 ? std::nullopt : std::optional<size_t>(place);
}

bool isFactorOfAddcmul(const FxCall &call, const Node &node, size_t operand) {
  auto value = call.keywords.find("value");
  return call.target == "addcmul" && node.is("Mul") && operand == 0 && call.arguments.size() == 3 &&
         (value == call.keywords.end() || value->second.text == "1" || value->second.text == "1.0");
}

Role roleOf(const Node &node, size_t operand) {
  static const std::map<std::string, std::vector<Role>> table = {
      {"Gemm", {Role::Input, Role::Weight, Role::Bias}},
      {"MatMul", {Role::Input, Role::Weight}},
      {"Conv", {Role::Input, Role::Weight, Role::Bias}},
      {"ConvTranspose", {Role::Input, Role::Weight, Role::Bias}},
      {"LayerNormalization", {Role::Input, Role::Weight, Role::Bias}},
      {"RMSNormalization", {Role::Input, Role::Weight}},
      {"SimplifiedLayerNormalization", {Role::Input, Role::Weight}},
      {"GroupNormalization", {Role::Input, Role::Weight, Role::Bias}},
      {"InstanceNormalization", {Role::Input, Role::Weight, Role::Bias}},
      {"BatchNormalization", {Role::Input, Role::Weight, Role::Bias, Role::Mean, Role::Variance}},
      {"Gather", {Role::Weight, Role::Input}},
      {"PRelu", {Role::Input, Role::Weight}},
  };
  auto found = table.find(node.opType);
  return found == table.end() || operand >= found->second.size() ? Role::None : found->second[operand];
}

std::string metadataOf(const Tensor &tensor, const Graph &graph, const std::string &key) {
  if (auto found = tensor.metadata.find(key); found != tensor.metadata.end())
    return found->second;
  const model::ValueInfo *info = graph.findValueInfo(tensor.name);
  if (!info)
    return "";
  auto found = info->metadata.find(key);
  return found == info->metadata.end() ? std::string() : found->second;
}

std::string ownPlaceholder(const Tensor &tensor, const Graph &graph, const Signature &signature) {
  if (std::string name = metadataOf(tensor, graph, key::originalName); isPlaceholder(name))
    return name;
  const SignatureEntry *entry = signature.byTarget(tensor.name);
  return entry ? entry->placeholder : std::string();
}

Uses::Uses(const Graph &graph, const Signature &signature)
    : graph(graph), signature(signature), originOf(graph.nodes.size()) {
  for (const Tensor &tensor : graph.initializers)
    tensors.emplace(tensor.name, &tensor);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string &text = graph.nodes[n].meta(key::fxNode);
    if (text.empty())
      continue;
    const auto [entry, isNew] = origins.try_emplace(text);
    if (isNew)
      entry->second.call = FxCall::parse(text);
    entry->second.nodes.push_back(n);
    originOf[n] = &entry->second;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = graph.nodes[n];
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (auto found = tensors.find(node.inputs[k]); found != tensors.end()) {
        Use use{n, k, roleOf(node, k), std::nullopt};
        use.placeholder = placeholderAt(n, k, use.role, *found->second);
        byTensor[found->first].push_back(std::move(use));
      }
  }
  inferUnlabelled();
}

namespace {
/// Fresh zeros or ones: what the exporter merges across modules.
bool hasOneValue(const Tensor &tensor) {
  try {
    model::Bytes bytes = tensor.bytes();
    size_t element = model::dtypeBits(tensor.dtype) / 8;
    return bytes.size > element && std::memcmp(bytes.data, bytes.data + element, bytes.size - element) == 0;
  } catch (const Error &) {
    return false; // external data that is not there
  }
}

std::string lastOf(const std::string &dotted) { return dotted.substr(dotted.rfind('.') + 1); }
} // namespace

/// Nodes that the exporter made up (Split) carry no call. Where such a node reads uniform values for another
/// module, and that module's parameter of the same last name is read nowhere, it was merged into this tensor.
void Uses::inferUnlabelled() {
  std::unordered_set<std::string> read;
  std::unordered_map<std::string, std::set<std::string>> modulesReading; // by value
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (const FxCall *call = this->call(n))
      for (const std::string &ref : call->refs())
        read.insert(ref);
    for (const std::string &input : graph.nodes[n].inputs)
      modulesReading[input].insert(moduleOf(graph.nodes[n]));
  }
  std::map<std::string, std::vector<const SignatureEntry *>> lost; // by last name
  for (const SignatureEntry &entry : signature.all())
    if (entry.kind == SignatureKind::Parameter && !read.count(entry.placeholder) &&
        !tensors.count(entry.target))
      lost[lastOf(entry.target)].push_back(&entry);
  if (lost.empty())
    return;
  for (auto &[name, uses] : byTensor) {
    std::string own = ownPlaceholder(*tensors.at(name), graph, signature);
    auto candidates = own.empty() ? lost.end() : lost.find(lastOf(signature.nameOf(own)));
    if (candidates == lost.end())
      continue;
    for (Use &use : uses) {
      const Node &node = graph.nodes[use.node];
      if (use.placeholder || call(use.node) || !hasOneValue(*tensors.at(name)))
        continue;
      std::set<std::string> modules;
      for (const std::string &output : node.outputs)
        if (auto readers = modulesReading.find(output); readers != modulesReading.end())
          modules.insert(readers->second.begin(), readers->second.end());
      if (modules.size() == 1)
        for (const SignatureEntry *entry : candidates->second)
          if (entry->target == *modules.begin() + "." + candidates->first)
            use.placeholder = entry->placeholder;
    }
  }
}

const std::vector<Use> &Uses::of(const std::string &tensor) const {
  static const std::vector<Use> none;
  auto found = byTensor.find(tensor);
  return found == byTensor.end() ? none : found->second;
}

const FxCall *Uses::call(size_t node) const {
  const Origin *origin = originOf[node];
  return origin && origin->call ? &*origin->call : nullptr;
}

const std::vector<size_t> &Uses::siblings(size_t node) const {
  static const std::vector<size_t> none;
  return originOf[node] ? originOf[node]->nodes : none;
}

std::optional<std::string> Uses::placeholderAt(size_t n, size_t operand, Role role,
                                               const Tensor &tensor) const {
  const FxCall *call = this->call(n);
  if (!call || !model::isFloat(tensor.dtype))
    return std::nullopt;
  const Node &node = graph.nodes[n];
  if (call->target.find("batch_norm") != std::string::npos && !node.is("BatchNormalization"))
    return std::nullopt; // a norm fused into a product: its operands are neither the norm's nor the product's
  if (placesByTarget().count(call->target)) {
    // A group norm is written as an instance norm with constant scale and bias, then Mul and Add.
    if (node.is("InstanceNormalization") && call->target.find("group_norm") != std::string::npos &&
        operand > 0)
      return "";
    if (role == Role::None && isVectorOrMore(tensor))
      role = node.is("Mul") ? Role::Weight : node.is("Add") ? Role::Bias : Role::None;
    if (std::optional<size_t> place = role == Role::None ? std::nullopt : argumentOf(call->target, role))
      if (*place < call->arguments.size()) {
        std::optional<std::string> told = fromArgument(call->arguments[*place]);
        return !told && (role == Role::Mean || role == Role::Variance) ? statisticOfModule(n, *place) : told;
      }
  }
  if (isPositional(call->target, node.opType) && operand < call->arguments.size())
    return fromArgument(call->arguments[operand]);
  if (isFactorOfAddcmul(*call, node, operand) && isVectorOrMore(tensor))
    return fromArgument(call->arguments[1]);
  if (call->target == "addcmul" && node.is("Add") && operand == 0 && !call->arguments.empty())
    return fromArgument(call->arguments[0]);
  if (call->target == "cat" && node.is("Concat") && !call->arguments.empty() &&
      call->arguments[0].refs.size() == node.inputs.size()) {
    const std::string &name = call->arguments[0].refs[operand];
    return isPlaceholder(name) ? std::optional(name) : std::nullopt;
  }
  std::vector<std::string> refs = call->refs();
  if (std::string own = ownPlaceholder(tensor, graph, signature);
      std::find(refs.begin(), refs.end(), own) != refs.end())
    return own;
  return onlyCandidate(n, *call);
}

/// A norm that is called again reads what its calls before made of its statistics: they are the module's all
/// the same.
std::optional<std::string> Uses::statisticOfModule(size_t n, size_t place) const {
  const std::string module = moduleOf(graph.nodes[n]);
  for (size_t before = 0; before < n && !module.empty(); ++before) {
    const FxCall *call = graph.nodes[before].is("BatchNormalization") ? this->call(before) : nullptr;
    if (!call || place >= call->arguments.size() || moduleOf(graph.nodes[before]) != module)
      continue;
    if (std::optional<std::string> name = fromArgument(call->arguments[place]); name && !name->empty())
      return name;
  }
  return std::nullopt;
}

/// One parameter in the call, one float initializer in all of its nodes: they belong together.
std::optional<std::string> Uses::onlyCandidate(size_t n, const FxCall &call) const {
  std::set<std::string> names, initializers;
  for (const std::string &ref : call.refs())
    if (isPlaceholder(ref))
      names.insert(ref);
  for (size_t sibling : siblings(n))
    for (const std::string &input : graph.nodes[sibling].inputs)
      if (auto found = tensors.find(input); found != tensors.end() && model::isFloat(found->second->dtype))
        initializers.insert(input);
  return names.size() == 1 && initializers.size() == 1 ? std::optional(*names.begin()) : std::nullopt;
}

} // namespace kedge::lint
