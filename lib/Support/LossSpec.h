// What is minimized: the value of --loss, one loss or a sum of several.
#pragma once
#include "lib/Support/LossFunction.h"
#include <functional>
#include <string>
#include <utility>

namespace kedge {

/// A number of a loss that a user may give.
struct LossParameter {
  const char *name;
  double value, low, high; ///< the default, and what it may be
  const char *meaning;
  bool isWhole = false;
};

const std::vector<LossParameter> &parametersOf(LossFunction loss);

/// "OUT=NAME:key=value,...*WEIGHT".
struct LossTerm {
  LossFunction function = LossFunction::CrossEntropy;
  std::vector<std::string> outputs; ///< empty: the one that --logits names
  std::vector<std::pair<std::string, double>> given;
  double weight = 1;

  bool operator==(const LossTerm &) const = default;
  /// As given, or the default.
  double parameter(std::string_view name) const;
  std::string text() const;
};

/// Terms joined by commas.
struct LossSpec {
  using ReadName = std::function<LossFunction(const std::string &)>;

  std::vector<LossTerm> terms;

  LossSpec(LossFunction function = LossFunction::CrossEntropy) : terms{LossTerm{function, {}, {}, 1}} {}
  bool operator==(const LossSpec &) const = default;
  /// The only term is this loss, with whatever parameters.
  bool operator==(LossFunction function) const {
    return terms.size() == 1 && terms.front().function == function;
  }
  bool any(bool (*holds)(LossFunction)) const;
  /// Several outputs have a loss of their own.
  bool namesOutputs() const;
  /// The output that the only term names.
  std::optional<std::string> onlyOutput() const;
  /// The name of the only one, or all text.
  std::string name() const;
  std::string text() const;

  /// Throws kedge::Error. `readName` may know more names.
  static LossSpec parse(const std::string &text, const ReadName &readName = {});
};

} // namespace kedge
