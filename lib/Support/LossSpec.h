// What is minimized: the value of --loss, one loss or a sum of several.
#pragma once
#include "lib/Support/LossFunction.h"
#include <functional>
#include <string>
#include <string_view>
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
  /// Whether it compares the model with a reference, which is no input where adapters can be off.
  bool readsReference() const;
  /// Rows that are compared with each other, one after the other; 1: none.
  int64_t rowsTogether() const;
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
  /// The least number of rows of which no term takes a part alone.
  int64_t rowsTogether() const;
  /// The parameter beta, where the only term has it: a scalar of the run (--dpo-beta).
  std::optional<double> beta() const;
  /// The name of the only one, or all text.
  std::string name() const;
  std::string text() const;

  /// Throws kedge::Error. `readName` may know more names.
  static LossSpec parse(const std::string &text, const ReadName &readName = {});
};

/// An output of the model that is minimized as it is.
struct LossOutput {
  std::string name;
  double weight = 1;

  bool operator==(const LossOutput &) const = default;
};

/// --loss-output: "NAME,NAME=WEIGHT".
struct LossOutputs {
  std::vector<LossOutput> all;

  LossOutputs() = default;
  /// Of one output, whatever its name.
  explicit LossOutputs(const std::string &name) : all{{name, 1}} {}

  bool operator==(const LossOutputs &) const = default;
  bool empty() const { return all.empty(); }
  bool has(std::string_view name) const;
  std::vector<std::string> names() const;
  std::string text() const;

  /// Throws kedge::Error.
  static LossOutputs parse(const std::string &text);
};

} // namespace kedge
