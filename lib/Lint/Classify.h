// Decides whether a tensor is a parameter, buffer or constant. In this order: (1) the file says so, (2) a
// signature leaves it out, (3) a gradient reaches it, (4) --train and --freeze.
#pragma once
#include "lib/Lint/Damage.h"
#include "lib/Lint/Reach.h"
#include <fmt/format.h>

namespace kedge::lint {

/// What the rules look at.
struct Evidence {
  const model::Model &model;
  const Signature &signature;
  const Uses &uses;
  const Damage &damage;
  const Reach &reach;
};

std::vector<Initializer> classify(const Evidence &, const LintOptions &);

/// The dotted name of the parameter that a tensor is or holds; its own name when nothing tells more.
std::string originalName(const model::Tensor &, const Evidence &);

/// All elements 0, 1, infinite or beyond 1e30. False when the values cannot be read.
bool looksLikeMask(const model::Tensor &);
/// All elements equal: fresh parameters are, masks are not.
bool isFresh(const model::Tensor &);

/// The expressions of an option as questions about a name; throws kedge::Error for a bad one.
std::vector<std::function<bool(const std::string &)>> patternsOf(const std::vector<std::string> &texts,
                                                                 const char *option);
/// "; did you mean ..." for a name or expression that nothing has.
std::string similarNames(const std::string &wanted, const std::vector<std::string> &names);

} // namespace kedge::lint
