// Decides whether a tensor is a parameter, buffer or constant. In this order: (1) the file says so, (2) a
// signature leaves it out, (3) its name and its role in the graph, (4) --train and --freeze.
#pragma once
#include "lib/Lint/Damage.h"
#include "lib/Lint/Reach.h"
#include "lib/Lint/Roles/Names.h"
#include "lib/Lint/Roles/Roles.h"
#include <fmt/format.h>

namespace kedge::lint {

/// What the rules look at.
struct Evidence {
  const model::Model &model;
  const Signature &signature;
  const Uses &uses;
  const Damage &damage;
  const Reach &reach;
  const Names &names;
  const Roles &roles;
};

std::vector<Initializer> classify(const Evidence &, const LintOptions &);

/// The dotted name of the parameter that a tensor is or holds; its own name when nothing tells more.
std::string originalName(const model::Tensor &, const Evidence &);

/// What the file itself says of a tensor (metadata kedge.requires_grad); nothing where it does not. Throws
/// kedge::Error for another text than true and false.
std::optional<bool> requiresGrad(const model::Tensor &, const model::Graph &);
/// Whether the file says it of any tensor.
bool recordsRequiresGrad(const model::Graph &);

/// The expressions of an option as questions about a name; throws kedge::Error for a bad one.
std::vector<std::function<bool(const std::string &)>> patternsOf(const std::vector<std::string> &texts,
                                                                 const char *option);
/// "; did you mean ..." for a name or expression that nothing has.
std::string similarNames(const std::string &wanted, const std::vector<std::string> &names);

} // namespace kedge::lint
