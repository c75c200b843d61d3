// Normalizations, whatever the operators that spell them: what is divided by a root of a mean of squares.
#pragma once
#include "lib/Lint/Roles/Values.h"

namespace kedge::lint {

/// What a constant does in a norm.
enum class NormPart { None, Inner, Scale, Shift };

class Norms {
public:
  explicit Norms(const Values &);

  /// Inner: epsilon, exponent, bound of a variance.
  NormPart part(const model::Node &, size_t operand) const;
  /// Whether the value is a norm's result, or one on the way to it, behind moves or not.
  bool isNormalized(const std::string &value) const { return normalized.count(value) != 0; }
  /// Whether the value is the root of a variance, its reciprocal, or that times a scale.
  bool isDeviation(const std::string &value) const { return deviations.count(value) != 0; }
  /// The InstanceNormalization that a group norm was written with, whose result the value is; null for
  /// others.
  const model::Node *groupNorm(const std::string &value) const;

private:
  void visit(const model::Node &);
  bool visitVariance(const model::Node &);
  bool visitDeviation(const model::Node &);
  void visitNormalized(const model::Node &);
  bool isSquare(const model::Node &) const;
  bool isGroupNorm(const model::Node &) const;
  void set(const model::Node &, size_t operand, NormPart);
  /// Sets the part of each operand that is a constant.
  void setConstants(const model::Node &, NormPart);
  void keepOrigin(const model::Node &, const std::string &from);

  const Values &values;
  std::map<std::pair<const model::Node *, size_t>, NormPart> parts;
  std::set<std::string> squares, variances, deviations, normalized, finished;
  std::map<std::string, const model::Node *> origins; // of group norms
};

} // namespace kedge::lint
