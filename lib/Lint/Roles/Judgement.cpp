#include "lib/Lint/Roles/Judgement.h"
#include "lib/Lint/Find/SineTable.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Traced.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::lint {
using model::Tensor;

namespace {
const GraphRole *firstOf(const std::vector<GraphRole> &roles, std::initializer_list<Claim> claims) {
  for (const GraphRole &role : roles)
    if (std::find(claims.begin(), claims.end(), role.claim) != claims.end())
      return &role;
  return nullptr;
}

Judgement decided(Verdict verdict, std::string reason) { return {verdict, std::move(reason), false, false}; }
Judgement guessed(Verdict verdict, std::string reason) { return {verdict, std::move(reason), true, false}; }
Judgement undecided(std::string reason) { return {Verdict::Constant, std::move(reason), false, true}; }

/// What is added before a Softmax is a mask or a learned bias.
Judgement beforeSoftmax(const Tensor &tensor, NameSays says, const GraphRole &role) {
  if (holdsInfinity(tensor))
    return decided(Verdict::Constant, "a mask: " + role.what);
  const NameSays kind = says == NameSays::Parameter ? saysBeforeSoftmax(tensor.name) : NameSays::Nothing;
  if (kind == NameSays::Parameter)
    return guessed(Verdict::Parameter, "its name: a learned bias, " + role.what);
  if (kind == NameSays::Buffer)
    return guessed(Verdict::Buffer, "its name: no learned bias, " + role.what);
  if (says == NameSays::Parameter)
    return undecided("its name is a parameter's, but it is " + role.what + ": a learned bias, or a mask");
  return hasMaskValues(tensor) || hasTwoValues(tensor) ? decided(Verdict::Constant, "a mask: " + role.what)
                                                       : undecided("no mask by its values, but " + role.what);
}

/// A name that is a parameter's.
Judgement named(const Tensor &tensor, const std::vector<GraphRole> &roles) {
  if (const GraphRole *role = firstOf(roles, {Claim::Parameter}))
    return decided(Verdict::Parameter, role->what);
  if (const GraphRole *role = firstOf(roles, {Claim::Mask}))
    return beforeSoftmax(tensor, NameSays::Parameter, *role);
  if (const GraphRole *role = firstOf(roles, {Claim::Constant}))
    return role->what.starts_with("the scale of a quantised")
               ? decided(Verdict::Constant, role->what)
               : undecided("its name is a parameter's, but it is " + role->what);
  if (const GraphRole *role = firstOf(roles, {Claim::Input}); role && isStatisticName(tensor.name))
    return guessed(Verdict::Buffer, "its name, and " + role->what);
  if (!tensor.isScalarLike() && holdsInfinity(tensor))
    return decided(Verdict::Constant, "a mask: it holds infinities");
  if (!isModulePath(tensor.name) && hasMaskValues(tensor) && !isUniform(tensor))
    return guessed(Verdict::Constant, "a mask: every element is 0 or 1");
  return guessed(Verdict::Parameter, "its name is a parameter's, and a gradient reaches it");
}

Judgement unnamed(const Tensor &tensor, const std::vector<GraphRole> &roles) {
  if (const std::optional<std::string> formula = sineFormula(tensor))
    return decided(Verdict::Constant, fmt::format("a table of positions by its values ({})", *formula));
  const GraphRole *parameter = firstOf(roles, {Claim::Parameter}), *affine = firstOf(roles, {Claim::Affine});
  const GraphRole *constant = firstOf(roles, {Claim::Constant, Claim::Weak, Claim::Input, Claim::Mask});
  if (parameter && constant)
    return undecided(fmt::format("it is {}, and {}", parameter->what, constant->what));
  if (parameter)
    return decided(Verdict::Parameter, parameter->what);
  if (affine)
    return undecided(affine->what + ": a layer's scale or shift, or a norm that was folded");
  const GraphRole *none = firstOf(roles, {Claim::None});
  const GraphRole *mask = firstOf(roles, {Claim::Mask});
  if (mask && !none)
    return beforeSoftmax(tensor, NameSays::Nothing, *mask);
  if (constant && (!none || tensor.isScalarLike()))
    return decided(Verdict::Constant, constant->what);
  if (holdsInfinity(tensor))
    return decided(Verdict::Constant, "a mask: it holds infinities");
  return undecided(none ? none->what : "no operator that reads it says what it is");
}
} // namespace

Judgement judgeByRole(const Tensor &tensor, NameSays says, const std::vector<GraphRole> &roles) {
  switch (says) {
  case NameSays::FusedNorm:
    return decided(Verdict::Parameter, fusedNormReason);
  case NameSays::Parameter:
    return named(tensor, roles);
  case NameSays::Constant:
    if (const GraphRole *role = firstOf(roles, {Claim::Parameter}))
      return undecided("its name is a constant's, but it is " + role->what);
    return decided(Verdict::Constant, "its name is a constant's");
  case NameSays::ConstantResult: // an optimizer of graphs may have merged a fresh scale or shift into it
    if (const GraphRole *role = firstOf(roles, {Claim::Parameter}); role && isUniform(tensor))
      return undecided("its name is a constant's, but it is " + role->what);
    return decided(Verdict::Constant, "by its name the result of a Constant node");
  case NameSays::Buffer:
  case NameSays::Nothing:
    break;
  }
  return unnamed(tensor, roles);
}

} // namespace kedge::lint
