// Training mode of Dropout and BatchNormalization through all opsets.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

/// Looks up values that are known without running anything: initializers and Constant nodes.
class KnownValues {
public:
  explicit KnownValues(const model::Graph &);
  /// The value as one number; nullopt when it is not known or has several elements.
  std::optional<double> scalar(const std::string &name) const;

private:
  std::map<std::string, const model::Tensor *> initializers;
  std::map<std::string, const model::Node *> constants;
};

bool isBatchNormTraining(const model::Node &);
/// Probability that a Dropout zeroes; nullopt when it is only known at run time.
std::optional<double> dropoutRatio(const model::Node &, const KnownValues &);
/// Nullopt when it is only known at run time.
std::optional<bool> isDropoutTraining(const model::Node &, const KnownValues &);

} // namespace kedge::lint
