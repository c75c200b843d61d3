#include "lib/Lint/Damage.h"
#include "lib/Lint/Lint.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

const Folded *Damage::foldedOf(const std::string &tensor) const {
  auto found =
      std::find_if(folded.begin(), folded.end(), [&](const Folded &f) { return f.tensor == tensor; });
  return found == folded.end() ? nullptr : &*found;
}

const Merged *Damage::mergedOf(const std::string &tensor) const {
  auto found =
      std::find_if(merged.begin(), merged.end(), [&](const Merged &m) { return m.tensor == tensor; });
  return found == merged.end() ? nullptr : &*found;
}

std::string agreedPlaceholder(const std::vector<Use> &uses) {
  std::string agreed;
  for (const Use &use : uses) {
    if (!use.placeholder)
      continue;
    if (use.placeholder->empty() || (!agreed.empty() && agreed != *use.placeholder))
      return "";
    agreed = *use.placeholder;
  }
  return agreed;
}

namespace {
/// "embedding_1" -> "embedding", "val_20" -> "val".
std::string stem(const std::string &name) {
  size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size() || name[end] != '_' || end == 0)
    return name;
  return name.substr(0, end);
}

bool isMovement(const std::string &stem) {
  static const std::set<std::string> stems = {
      "t",       "transpose", "permute",   "view",       "reshape",        "_unsafe_view", "unsqueeze",
      "squeeze", "flatten",   "unflatten", "contiguous", "clone",          "detach",       "alias",
      "numpy_t", "swapaxes",  "movedim",   "detach_",    "lift_fresh_copy"};
  return stems.count(stem);
}

bool isSelection(const std::string &stem) {
  static const std::set<std::string> stems = {"slice",  "select", "expand",       "expand_as",
                                              "repeat", "narrow", "index_select", "index"};
  return stems.count(stem);
}

/// Values of the exporter itself ("val_7") and sizes: shapes and axes that moved data, not arithmetic on it.
bool isHelper(const std::string &stem) { return stem == "val" || stem.starts_with("sym_size"); }

bool isVectorShaped(const Tensor &tensor) {
  return std::count_if(tensor.dims.begin(), tensor.dims.end(), [](int64_t d) { return d != 1; }) <= 1;
}

class FoldingFinder {
public:
  FoldingFinder(const Graph &graph, const Signature &signature, const Uses &uses)
      : graph(graph), signature(signature), uses(uses) {}

  std::optional<Folded> find(const Tensor &tensor) const {
    std::string list = metadataOf(tensor, graph, key::foldedFrom);
    if (list.empty() || !model::isFloat(tensor.dtype) || uses.of(tensor.name).empty())
      return std::nullopt;
    Folded folded{tensor.name, Folding::Computed, {}};
    std::vector<std::string> between;
    for (const std::string &name : parseStringList(list))
      if (const SignatureEntry *entry = signature.byTarget(name);
          entry && entry->kind == TargetKind::Parameter)
        folded.sources.push_back(name);
      else if (!entry)
        between.push_back(stem(name));
      else
        between.push_back("buffer");
    if (folded.sources.empty())
      return std::nullopt;
    if (folded.sources.size() == 1)
      folded.kind = kindOf(tensor, between);
    return folded;
  }

private:
  Folding kindOf(const Tensor &tensor, const std::vector<std::string> &between) const {
    std::string own = stem(tensor.name);
    auto all = [&](auto accept) { return std::all_of(between.begin(), between.end(), accept); };
    if (all(isHelper) && own == "val")
      return layoutFromUses(tensor);
    if (own == "embedding")
      return Folding::Rows;
    bool moved = all([](const std::string &s) { return isHelper(s) || isMovement(s); });
    if (moved && isMovement(own)) {
      bool exchanged =
          own == "t" || own == "transpose" || own == "permute" || own == "numpy_t" || own == "swapaxes";
      bool once = all([](const std::string &s) { return isHelper(s); });
      return exchanged && once && tensor.dims.size() == 2 ? Folding::Transposed : Folding::Renamed;
    }
    bool selected = all([](const std::string &s) { return isHelper(s) || isMovement(s) || isSelection(s); });
    return selected && (isSelection(own) || isMovement(own)) ? Folding::Part : Folding::Computed;
  }

  /// The exporter's own steps inside of one call: a Linear transposes its weight, a norm reshapes its
  /// vectors.
  Folding layoutFromUses(const Tensor &tensor) const {
    Folding layout = Folding::Computed;
    for (const Use &use : uses.of(tensor.name)) {
      const FxCall *call = uses.call(use.node);
      if (!call || !use.placeholder || use.placeholder->empty())
        continue;
      const Node &node = graph.nodes[use.node];
      bool product = node.is("MatMul") || (node.is("Gemm") && node.attrInt("transB", 0) == 0);
      if (call->target == "linear" && use.operand == 1 && product && tensor.dims.size() == 2)
        return Folding::Transposed;
      layout = isVectorShaped(tensor) ? Folding::Vector : Folding::Renamed;
    }
    return layout;
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
};

std::optional<Merged> findMerged(const Tensor &tensor, const Graph &graph, const Signature &signature,
                                 const Uses &uses) {
  if (!model::isFloat(tensor.dtype))
    return std::nullopt;
  std::string own = ownPlaceholder(tensor, graph, signature);
  Merged merged{tensor.name, {}};
  bool anyParameter = false;
  for (const Use &use : uses.of(tensor.name)) {
    std::optional<std::string> name = use.placeholder ? use.placeholder
                                      : own.empty()   ? std::nullopt
                                                      : std::optional(own);
    if (!name)
      continue;
    anyParameter |= Signature::isParameter(*name);
    auto found = std::find_if(merged.names.begin(), merged.names.end(),
                              [&](const auto &entry) { return entry.first == *name; });
    if (found == merged.names.end())
      found = merged.names.insert(merged.names.end(), {*name, {}});
    found->second.push_back(use);
  }
  return anyParameter && merged.names.size() > 1 ? std::optional(merged) : std::nullopt;
}

bool isBatchNorm(const std::string &target) { return target.find("batch_norm") != std::string::npos; }

std::optional<FusedNorm> findFused(const Graph &graph, size_t n, const Signature &signature,
                                   const Uses &uses) {
  const Node &node = graph.nodes[n];
  const FxCall *call = uses.call(n);
  if (!call || !isBatchNorm(call->target) ||
      !(node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul")))
    return std::nullopt;
  FusedNorm fused{n, moduleOf(node), {}};
  for (Role role : {Role::Weight, Role::Bias})
    if (std::string name = call->value(*argumentOf("batch_norm", role)); Signature::isParameter(name))
      fused.parameters.push_back(signature.nameOf(name));
  return fused;
}

std::optional<DroppedBias> findDropped(const Graph &graph, size_t n, const Uses &uses) {
  const Node &node = graph.nodes[n];
  const FxCall *call = uses.call(n);
  if (!call || isBatchNorm(call->target) || roleOf(node, 1) != Role::Weight || node.is("Gather"))
    return std::nullopt;
  std::optional<size_t> place = argumentOf(call->target, Role::Bias);
  std::string placeholder = place ? call->value(*place, "bias") : std::string();
  if (!Signature::isParameter(placeholder))
    return std::nullopt;
  if (roleOf(node, 2) == Role::Bias)
    return node.hasInput(2) ? std::nullopt : std::optional(DroppedBias{n, placeholder});
  // A product without a place for it: its sibling Add holds the bias, or nobody does.
  if (!node.is("MatMul"))
    return std::nullopt;
  for (size_t sibling : uses.siblings(n))
    if (graph.nodes[sibling].is("Add") || graph.nodes[sibling].is("Gemm"))
      return std::nullopt;
  return DroppedBias{n, placeholder};
}
} // namespace

Damage findDamage(const Graph &graph, const Signature &signature, const Uses &uses) {
  Damage damage;
  damage.shared = findSharedNodes(graph, signature, uses);
  FoldingFinder folding(graph, signature, uses);
  for (const Tensor &tensor : graph.initializers) {
    if (std::optional<Folded> folded = folding.find(tensor))
      damage.folded.push_back(std::move(*folded));
    if (std::optional<Merged> merged = findMerged(tensor, graph, signature, uses))
      damage.merged.push_back(std::move(*merged));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (std::optional<FusedNorm> fused = findFused(graph, n, signature, uses))
      damage.fused.push_back(std::move(*fused));
    if (std::optional<DroppedBias> dropped = findDropped(graph, n, uses))
      damage.dropped.push_back(std::move(*dropped));
  }
  return damage;
}

} // namespace kedge::lint
