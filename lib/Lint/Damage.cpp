#include "lib/Lint/Lint.h"
#include "lib/Lint/Repair/Claims.h"
#include "lib/Lint/Traced.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
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

bool Damage::isUnfolded(const std::string &tensor) const {
  const auto isSlice = [&](const StackedSlice &slice) { return slice.tensor == tensor; };
  return std::ranges::any_of(unfoldings,
                             [&](const Unfolding &unfolding) { return unfolding.tensor == tensor; }) ||
         std::ranges::any_of(
             stacks, [&](const ParameterStack &stack) { return std::ranges::any_of(stack.slices, isSlice); });
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
  static const std::set<std::string> stems = {"slice", "select", "expand", "expand_as", "repeat", "narrow"};
  return stems.count(stem);
}

bool isLookUp(const std::string &stem) {
  return stem == "embedding" || stem == "index_select" || stem == "index" || stem == "gather";
}

/// What positions 0 to T - 1 go through: an offset of 0 is added, an axis for the batch put in front.
bool isOfPositions(const std::string &stem) {
  return stem == "arange" || stem == "add" || stem == "to" || stem == "_to_copy";
}

std::string lastPart(const std::string &dotted) { return dotted.substr(dotted.rfind('.') + 1); }

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
          entry && entry->kind == SignatureKind::Parameter)
        folded.sources.push_back(name);
      else
        between.push_back(!entry                          ? stem(name)
                          : isIndexBuffer(lastPart(name)) ? lastPart(name)
                                                          : std::string("buffer"));
    if (folded.sources.empty())
      return std::nullopt;
    if (folded.sources.size() == 1)
      folded.kind = kindOf(tensor, between);
    else if (std::optional<std::string> bias = biasOfZeros(tensor, folded.sources))
      folded.kind = Folding::FirstRow, folded.sources = {*bias};
    if ((folded.isCopy() || folded.kind == Folding::Computed) && tensor.dtype == model::ElementType::Float)
      byRecordedNumbers(tensor, between, folded);
    return folded;
  }

private:
  Folding kindOf(const Tensor &tensor, const std::vector<std::string> &between) const {
    std::string own = stem(tensor.name);
    auto all = [&](auto accept) { return std::all_of(between.begin(), between.end(), accept); };
    if (all(isHelper) && own == "val")
      return layoutFromUses(tensor);
    if (all(isHelper) && isFactorOfAddcmul(tensor))
      return Folding::Renamed;
    if (isLookUp(own))
      return own == "embedding" ? rowsOf(tensor, between) : Folding::Rows;
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

  bool isFactorOfAddcmul(const Tensor &tensor) const {
    const std::vector<Use> &places = uses.of(tensor.name);
    return std::all_of(places.begin(), places.end(), [&](const Use &use) {
      const FxCall *call = uses.call(use.node);
      return call && lint::isFactorOfAddcmul(*call, graph.nodes[use.node], use.operand);
    });
  }

  /// A Linear of zeros, the state before the first step of a recurrent layer that was unrolled: its bias,
  /// repeated, where the weight, which the file holds as well, is not zero.
  std::optional<std::string> biasOfZeros(const Tensor &tensor,
                                         const std::vector<std::string> &sources) const {
    if (stem(tensor.name) != "linear" || sources.size() != 2)
      return std::nullopt;
    for (size_t k : {0, 1}) {
      const Tensor *bias = graph.findInitializer(sources[k]), *weight = storedAs(sources[1 - k]);
      if (bias && weight && bias->dims.size() == 1 && weight->dims.size() == 2 && !isUniform(*weight) &&
          tensor.dims.size() > 1 && repeats(tensor, *bias))
        return sources[k];
    }
    return std::nullopt;
  }

  /// The tensor that is this parameter, transposed or not.
  const Tensor *storedAs(const std::string &name) const {
    if (const Tensor *own = graph.findInitializer(name))
      return own;
    for (const Tensor &tensor : graph.initializers)
      if (parseStringList(metadataOf(tensor, graph, key::foldedFrom)) == std::vector<std::string>{name})
        return &tensor;
    return nullptr;
  }

  static bool repeats(const Tensor &tensor, const Tensor &row) {
    try {
      const model::Bytes all = tensor.bytes(), one = row.bytes();
      return one.size > 0 && all.size % one.size == 0 && std::memcmp(all.data, one.data, one.size) == 0 &&
             std::memcmp(all.data, all.data + one.size, all.size - one.size) == 0;
    } catch (const Error &) {
      return false; // external data that is not there
    }
  }

  /// Which rows of a table: numbers that the record tells, or others.
  static Folding rowsOf(const Tensor &tensor, const std::vector<std::string> &between) {
    auto all = [&](auto accept) { return std::all_of(between.begin(), between.end(), accept); };
    auto any = [&](const char *one, const char *other) {
      return std::any_of(between.begin(), between.end(),
                         [&](const std::string &s) { return s == one || s == other; });
    };
    const auto moves = [](const std::string &s) { return isHelper(s) || isMovement(s) || isSelection(s); };
    if (tensor.dims.size() > 1 && any("arange", "position_ids") &&
        all([&](const std::string &s) { return moves(s) || isOfPositions(s) || s == "position_ids"; }))
      return Folding::Places;
    // Zeros that are looked up at any places are zeros.
    return any("zeros", "token_type_ids") && all([&](const std::string &s) {
             return moves(s) || s == "zeros" || s == "token_type_ids" || s == "gather" || s == "index" ||
                    s == "arange" || s == "position_ids";
           })
               ? Folding::FirstRow
               : Folding::Rows;
  }

  /// Products and sums with numbers that the file still tells: alpha of an addition, the one of 1 + weight.
  void byRecordedNumbers(const Tensor &tensor, const std::vector<std::string> &between,
                         Folded &folded) const {
    for (const Use &use : uses.of(tensor.name)) {
      const FxCall *call = uses.call(use.node);
      if (!call)
        continue;
      for (const char *factor : {"alpha", "beta", "value"})
        if (auto found = call->keywords.find(factor);
            found != call->keywords.end() && stem(tensor.name) == "val" && found->second.text != "1" &&
            found->second.text != "1.0") {
          char *end = nullptr;
          folded.scale = std::strtod(found->second.text.c_str(), &end);
          const bool known = (call->target == "add" || call->target == "sub") && use.operand == 1 &&
                             *end == 0 && folded.scale != 0 && folded.sources.size() == 1;
          folded.kind = known ? Folding::Moved : Folding::Computed;
        }
      const bool sum = stem(tensor.name) == "add" && folded.sources.size() == 1 &&
                       std::all_of(between.begin(), between.end(), [](const std::string &s) {
                         return isHelper(s) || s == "scalar_tensor_default" || s == "_to_copy" || s == "to";
                       });
      if (sum && addsOne(graph.nodes[use.node])) {
        folded.kind = Folding::Moved;
        folded.shift = 1;
      }
    }
    if (folded.shift == 1 && folded.kind == Folding::Moved && !findOthers(tensor, folded))
      folded.kind = Folding::Computed;
  }

  /// Readers whose call names another value: the exporter stored results of equal values once. Each is of the
  /// parameter of its own module; false where none is known.
  bool findOthers(const Tensor &tensor, Folded &folded) const {
    for (const Use &use : uses.of(tensor.name)) {
      const FxCall *call = uses.call(use.node);
      const std::vector<std::string> refs = call ? call->refs() : std::vector<std::string>();
      if (!call || std::find(refs.begin(), refs.end(), tensor.name) != refs.end())
        continue;
      const std::string owner = moduleOf(graph.nodes[use.node]) + ".weight";
      const SignatureEntry *entry = signature.byTarget(owner);
      if (!entry || entry->kind != SignatureKind::Parameter || owner == folded.sources[0] ||
          graph.findInitializer(owner) || !addsOne(graph.nodes[use.node]))
        return false;
      folded.others[owner].push_back(use);
    }
    return true;
  }

  /// Norms of the libraries that multiply by 1 + weight, by the class of their module.
  static bool addsOne(const Node &node) {
    static const std::set<std::string> classes = {
        "GemmaRMSNorm",   "Gemma2RMSNorm",     "Gemma3RMSNorm",    "RecurrentGemmaRMSNorm",
        "T5GemmaRMSNorm", "VaultGemmaRMSNorm", "Qwen3NextRMSNorm", "NemotronLayerNorm1P",
        "Qwen3_5RMSNorm", "Qwen3_5MoeRMSNorm", "T5Gemma2RMSNorm"};
    const std::vector<std::string> all = parseStringList(node.meta(key::classHierarchy));
    return all.size() > 1 && classes.count(lastPart(all[all.size() - 2])) != 0;
  }

  static bool isIndexBuffer(const std::string &leaf) {
    return leaf == "position_ids" || leaf == "token_type_ids";
  }

  /// weight[i]: the exporter puts the axes that are indexed in front of the others, where these are.
  static bool indexesFirstAxis(const FxCall &call) {
    return call.target == "index" && call.arguments.size() == 2 && call.arguments[1].refs.size() == 1 &&
           call.arguments[1].text.starts_with("[%");
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
      if (indexesFirstAxis(*call) && node.is("GatherND") && use.operand == 0)
        return Folding::Same;
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

class MergedFinder {
public:
  MergedFinder(const Graph &graph, const Signature &signature, const Uses &uses)
      : graph(graph), signature(signature), uses(uses) {
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (const FxCall *call = uses.call(n))
        for (const std::string &ref : call->refs())
          read.insert(ref);
  }

  /// `folded`: of this tensor, or null.
  std::optional<Merged> find(const Tensor &tensor, const Folded *folded) const {
    if (!model::isFloat(tensor.dtype))
      return std::nullopt;
    std::string own = ownPlaceholder(tensor, graph, signature);
    Merged merged{tensor.name, {}};
    bool anyParameter = false;
    for (const Use &use : uses.of(tensor.name)) {
      std::optional<std::string> name = use.placeholder ? use.placeholder
                                        : !own.empty()  ? std::optional(own)
                                        : folded && folded->isCopy() && folded->sources.size() == 1
                                            ? sourceOf(*folded, use)
                                            : std::nullopt;
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

  /// Parameters of modules near the readers of which nothing is left in the file, where a reader's call names
  /// another result than this tensor, and `merged` does not say whose: they are in this tensor, and nothing
  /// tells where.
  std::vector<std::string> lostIn(const Folded &folded, const Merged *merged,
                                  const std::set<std::string> &held) const {
    std::vector<std::string> lost;
    for (const Use &use : uses.of(folded.tensor))
      if (!use.placeholder && !isTold(merged, use) && namesAnother(folded, use))
        for (const SignatureEntry &entry : signature.all())
          if (entry.kind == SignatureKind::Parameter && !held.count(entry.target) &&
              !read.count(entry.placeholder) && !graph.findInitializer(entry.target) &&
              isOf(entry.target, moduleOf(graph.nodes[use.node])) &&
              std::find(lost.begin(), lost.end(), entry.target) == lost.end())
            lost.push_back(entry.target);
    return lost;
  }

private:
  static bool isOf(const std::string &parameter, const std::string &module) {
    return parameter.size() > module.size() && parameter.starts_with(module) &&
           parameter[module.size()] == '.' && parameter.find('.', module.size() + 1) == std::string::npos;
  }

  static bool isTold(const Merged *merged, const Use &use) {
    const auto isUse = [&](const Use &other) {
      return other.node == use.node && other.operand == use.operand;
    };
    return merged && std::ranges::any_of(merged->names, [&](const auto &entry) {
             return std::ranges::any_of(entry.second, isUse);
           });
  }

  /// Results without a name of their own are called val_N.
  bool namesAnother(const Folded &folded, const Use &use) const {
    const FxCall *call = uses.call(use.node);
    const std::vector<std::string> refs = call ? call->refs() : std::vector<std::string>();
    return call && !folded.tensor.starts_with("val_") &&
           std::find(refs.begin(), refs.end(), folded.tensor) == refs.end();
  }

  /// Of a parameter that was moved, as by weight[:, None, None]: where the reader's call names another result
  /// of equal values, that of the reader's own module, which nothing else of the file reads.
  std::optional<std::string> sourceOf(const Folded &folded, const Use &use) const {
    const std::string &source = folded.sources[0];
    if (!uses.call(use.node) || folded.tensor.starts_with("val_"))
      return std::nullopt;
    if (!namesAnother(folded, use))
      return signature.byTarget(source)->placeholder;
    const SignatureEntry *entry =
        signature.byTarget(moduleOf(graph.nodes[use.node]) + "." + lastPart(source));
    const bool isLost = entry && entry->kind == SignatureKind::Parameter && entry->target != source &&
                        !graph.findInitializer(entry->target) && !read.count(entry->placeholder);
    return isLost ? std::optional(entry->placeholder) : std::nullopt;
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
  std::set<std::string> read; ///< by calls that the file still has
};

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
/// Names of parameters of which the file still holds something.
std::set<std::string> heldIn(const Damage &damage, const Signature &signature) {
  std::set<std::string> held;
  for (const Folded &folded : damage.folded) {
    held.insert(folded.sources.begin(), folded.sources.end());
    for (const auto &[owner, places] : folded.others)
      held.insert(owner);
  }
  for (const Unfolding &unfolding : damage.unfoldings)
    for (const auto &[placeholder, shape] : unfolding.shapes)
      held.insert(signature.nameOf(placeholder));
  return held;
}

/// Copies and parts that stand for parameters of which nothing tells where they are cannot be undone.
void markLost(Damage &damage, const Signature &signature, const MergedFinder &merging) {
  const std::set<std::string> held = heldIn(damage, signature);
  for (Folded &folded : damage.folded) {
    if (folded.kind == Folding::Computed || folded.kind == Folding::Moved || damage.isUnfolded(folded.tensor))
      continue;
    const std::vector<std::string> lost = merging.lostIn(folded, damage.mergedOf(folded.tensor), held);
    if (!lost.empty())
      folded.kind = Folding::Computed, folded.sources.insert(folded.sources.end(), lost.begin(), lost.end());
  }
}
} // namespace

Damage findDamage(const Graph &graph, const Signature &signature, const Uses &uses) {
  Damage damage;
  damage.shared = findSharedNodes(graph, signature, uses);
  damage.unfoldings = findUnfoldings(graph, signature, uses);
  damage.stacks = findStacks(graph, signature);
  FoldingFinder folding(graph, signature, uses);
  const MergedFinder merging(graph, signature, uses);
  for (const Tensor &tensor : graph.initializers) {
    std::optional<Folded> folded = folding.find(tensor);
    if (std::optional<Merged> merged = merging.find(tensor, folded ? &*folded : nullptr))
      damage.merged.push_back(std::move(*merged));
    if (folded)
      damage.folded.push_back(std::move(*folded));
  }
  markLost(damage, signature, merging);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (std::optional<FusedNorm> fused = findFused(graph, n, signature, uses))
      damage.fused.push_back(std::move(*fused));
    if (std::optional<DroppedBias> dropped = findDropped(graph, n, uses))
      damage.dropped.push_back(std::move(*dropped));
  }
  damage.contradictions = findContradictions(graph, signature, uses, damage);
  return damage;
}

} // namespace kedge::lint
