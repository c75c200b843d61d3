// Training mode of Dropout and BatchNormalization through all opsets.
#pragma once
#include "lib/Model/Model.h"
#include <functional>
#include <optional>

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

/// Mode in which PyTorch ran this BatchNormalization when the file was exported, by its form or the
/// exporter's metadata; nullopt when neither tells.
std::optional<bool> wasTraining(const model::Node &);
/// The same of a Dropout, by the exporter's metadata alone.
std::optional<bool> wasDropoutTraining(const model::Node &);

/// Modules that were in eval() when others of the file were in train() were meant so.
class NormModes {
public:
  explicit NormModes(const model::Graph &);
  /// Beside norms in training mode, this one was not.
  bool staysFrozen(const model::Node &) const;
  /// Some module of the file was in training mode.
  bool anyTrained() const { return someTrained || someDropout; }

private:
  bool someTrained = false, formTells = false; // formTells: nodes in training mode are the exporter's
  bool someDropout = false;
};

/// --train-mode=REGEX: modules by their path, the names of their nodes or of the tensors that these read.
class ModuleChoice {
public:
  explicit ModuleChoice(const std::vector<std::string> &texts);
  bool given() const { return !patterns.empty(); }
  bool fits(const model::Node &);
  /// Throws kedge::Error for an expression that fitted nothing.
  void checkUsed(const model::Graph &) const;

private:
  const std::vector<std::string> &texts;
  std::vector<std::function<bool(const std::string &)>> patterns;
  std::vector<bool> used;
};

} // namespace kedge::lint
