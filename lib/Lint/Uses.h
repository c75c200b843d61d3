// Which parameter of the original program stood where a node now reads an initializer.
#pragma once
#include "lib/Lint/ExporterMetadata.h"
#include <unordered_map>

namespace kedge::lint {

/// Part that an operand plays in an operator or in the PyTorch call behind it.
enum class Role { None, Input, Weight, Bias, Mean, Variance };

/// One operand of a top-level node that is an initializer.
struct Use {
  size_t node = 0;
  size_t operand = 0;
  Role role = Role::None;
  /// "p_..." or "b_...": what the original call had here. "": certainly neither (a number). Nullopt: not
  /// told.
  std::optional<std::string> placeholder;
};

/// The place that `role` has among the arguments of a PyTorch function; nullopt for functions without roles.
std::optional<size_t> argumentOf(const std::string &target, Role role);

/// Whether the operand is `tensor1` of addcmul(self, tensor1, tensor2), which the exporter multiplies by a
/// number, here 1.
bool isFactorOfAddcmul(const FxCall &, const model::Node &, size_t operand);

/// The part of an operand of an ONNX node, as far as the operator alone tells.
Role roleOf(const model::Node &, size_t operand);

class Uses {
public:
  Uses(const model::Graph &, const Signature &);
  const std::vector<Use> &of(const std::string &tensor) const;
  /// The original call of a node; null when the file does not tell.
  const FxCall *call(size_t node) const;
  /// All nodes that came from the same call as this one.
  const std::vector<size_t> &siblings(size_t node) const;
  const std::map<std::string, std::vector<Use>> &all() const { return byTensor; }

private:
  std::optional<std::string> placeholderAt(size_t node, size_t operand, Role role,
                                           const model::Tensor &) const;
  std::optional<std::string> statisticOfModule(size_t node, size_t place) const;
  std::optional<std::string> onlyCandidate(size_t node, const FxCall &) const;
  void inferUnlabelled();

  const model::Graph &graph;
  const Signature &signature;
  std::unordered_map<std::string, const model::Tensor *> tensors;
  /// A call of the original program, and the nodes that came from it.
  struct Origin {
    std::optional<FxCall> call; // nullopt: a text that is none
    std::vector<size_t> nodes;
  };
  std::unordered_map<std::string_view, Origin> origins; // by fx_node text
  std::vector<const Origin *> originOf;                 // by node; null: no text
  std::map<std::string, std::vector<Use>> byTensor;
};

/// The placeholder that the initializer itself stands for, by its metadata or its name; "" when not told.
std::string ownPlaceholder(const model::Tensor &, const model::Graph &, const Signature &);

/// Metadata of an initializer: its own and that of its value info.
std::string metadataOf(const model::Tensor &, const model::Graph &, const std::string &key);

} // namespace kedge::lint
