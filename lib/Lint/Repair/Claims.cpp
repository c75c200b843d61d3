#include "lib/Lint/Repair/Claims.h"
#include "lib/Lint/Repair/Repair.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Tensor;

namespace {

std::string shapeText(const std::vector<int64_t> &dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

/// One place of the file that is said to be a parameter, in the parameter's own shape where that is known.
struct NameClaim {
  std::string place; // the tensor's name, or the node's
  const Tensor *tensor = nullptr;
  Folding layout = Folding::Renamed;
  std::optional<std::vector<int64_t>> shape;
  bool zeros = false;
};

class ClaimCheck {
public:
  ClaimCheck(const Graph &graph, const Signature &signature, const Uses &uses, const Damage &damage)
      : graph(graph), signature(signature), uses(uses), damage(damage) {}

  std::vector<Contradiction> find() {
    collect();
    if (claims.empty())
      return {};
    for (const auto &[name, all] : claims)
      compare(name, all);
    return std::move(found);
  }

private:
  void add(const std::string &placeholder, NameClaim claim) {
    const std::string name = signature.nameOf(placeholder);
    const SignatureEntry *entry = signature.byPlaceholder(placeholder);
    if (signature.present() && (!entry || (entry->kind == SignatureKind::Other)))
      return (void)found.push_back(
          {claim.place,
           fmt::format("its record names '{}', which the graph's signature does not list", placeholder)});
    for (const SignatureEntry &other : signature.all())
      if ((other.target == name) != (other.placeholder == placeholder))
        return (void)found.push_back(
            {claim.place, fmt::format("the graph's signature makes '{}' '{}', and '{}' '{}'", placeholder,
                                      name, other.placeholder, other.target)});
    claims[name].push_back(std::move(claim));
  }

  /// What repairs would act on; a file without damage is not looked at.
  void collect() {
    for (const Merged &merged : damage.merged)
      for (const auto &[placeholder, places] : merged.names)
        if (!placeholder.empty())
          add(placeholder, ofTensor(merged.tensor));
    for (const SharedNode &shared : damage.shared)
      for (const auto &[use, placeholder] : shared.parameters)
        add(placeholder, ofTensor(graph.nodes[shared.node].inputs[use.operand]));
    for (const DroppedBias &dropped : damage.dropped) {
      NameClaim claim{graph.nodes[dropped.node].output(0), nullptr, Folding::Renamed, std::nullopt, true};
      if (std::optional<int64_t> length = biasLength(graph, graph.nodes[dropped.node]))
        claim.shape = std::vector<int64_t>{*length};
      add(dropped.placeholder, std::move(claim));
    }
    for (const Folded &folded : damage.folded)
      if (folded.isCopy() && !damage.mergedOf(folded.tensor))
        if (const SignatureEntry *entry = signature.byTarget(folded.sources[0]))
          add(entry->placeholder, ofTensor(folded.tensor));
    for (const Unfolding &unfolding : damage.unfoldings)
      for (const auto &[placeholder, shape] : unfolding.shapes)
        add(placeholder, {unfolding.tensor, nullptr, Folding::Renamed, shape, false});
    for (auto &[name, all] : claims)
      if (const Tensor *own = graph.findInitializer(name))
        if (std::none_of(all.begin(), all.end(), [&](const NameClaim &claim) { return claim.tensor == own; }))
          all.push_back({name, own, Folding::Renamed, own->dims, false});
  }

  NameClaim ofTensor(const std::string &name) const {
    const Tensor *tensor = graph.findInitializer(name);
    const Folded *folded = damage.foldedOf(name);
    NameClaim claim{name, tensor, folded ? folded->kind : Folding::Renamed, std::nullopt, false};
    if (!tensor)
      return claim;
    if (!folded || folded->kind == Folding::Same)
      claim.shape = tensor->dims;
    else if (folded->kind == Folding::Transposed && tensor->dims.size() == 2)
      claim.shape = std::vector<int64_t>{tensor->dims[1], tensor->dims[0]};
    else if (folded->kind == Folding::Vector)
      claim.shape = std::vector<int64_t>{tensor->numElements()};
    return claim;
  }

  void compare(const std::string &name, const std::vector<NameClaim> &all) {
    const NameClaim &first = all.front();
    for (size_t k = 1; k < all.size(); ++k) {
      const NameClaim &other = all[k];
      if (first.shape && other.shape && *first.shape != *other.shape)
        found.push_back(
            {first.place, fmt::format("its record makes it '{}' of shape {}, and '{}' is that "
                                      "parameter with shape {}",
                                      name, shapeText(*first.shape), other.place, shapeText(*other.shape))});
      else if (differ(first, other))
        found.push_back({first.place, fmt::format("its record makes it '{}', and so does that of '{}', which "
                                                  "holds other values",
                                                  name, other.place)});
    }
  }

  static bool isZero(const Tensor &tensor) {
    const model::Bytes bytes = tensor.bytes();
    return std::all_of(bytes.data, bytes.data + bytes.size, [](uint8_t byte) { return byte == 0; });
  }

  static bool differ(const NameClaim &a, const NameClaim &b) {
    try {
      if (a.zeros || b.zeros)
        return (a.tensor && !isZero(*a.tensor)) || (b.tensor && !isZero(*b.tensor));
      if (!a.tensor || !b.tensor || a.tensor == b.tensor)
        return (!a.tensor && b.tensor) || (a.tensor && !b.tensor); // rows in a folded tensor, and a tensor
      const bool exchanged = a.layout == Folding::Transposed,
                 otherExchanged = b.layout == Folding::Transposed;
      const Tensor left = exchanged ? transposed(*a.tensor, "") : *a.tensor;
      const Tensor right = otherExchanged ? transposed(*b.tensor, "") : *b.tensor;
      const bool known = a.shape && b.shape;
      const model::Bytes x = left.bytes(), y = right.bytes();
      return known && (x.size != y.size || std::memcmp(x.data, y.data, x.size) != 0);
    } catch (const Error &) {
      return false; // external data that is not there
    }
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
  const Damage &damage;
  std::map<std::string, std::vector<NameClaim>> claims;
  std::vector<Contradiction> found;
};

} // namespace

std::vector<Contradiction> findContradictions(const Graph &graph, const Signature &signature,
                                              const Uses &uses, const Damage &damage) {
  return ClaimCheck(graph, signature, uses, damage).find();
}

} // namespace kedge::lint
