// What would train wrongly without a word: the verdict on every initializer, the findings, and what mends
// them. Works on model::Model alone, from names and the exporter's own metadata; values are read only where a
// rule asks for them (masks, repairs).
#pragma once
#include "kedge/Model/Model.h"
#include <functional>
#include <set>

namespace kedge::lint {

enum class Severity { Error, Warning, Note };
std::string_view severityName(Severity); // "error", "warning", "note"

enum class Verdict {
  Parameter, // trained
  Frozen,    // a parameter that --freeze keeps as it is
  Buffer,    // state that training changes without a gradient (running statistics), or the file calls so
  State,     // other variables of a training_info (moments, step counters)
  Constant
};
std::string_view verdictName(Verdict);

struct Finding {
  Severity severity = Severity::Error;
  std::string code; // one of the contract's: "merged-parameters", "dropped-bias", ...
  std::string node; // node name; of an unnamed node its first output
  std::string tensor;
  std::string module; // dotted module path; "" when the file does not tell
  std::string reason;
  std::string remedy;
  bool repairable = false; // by --repair or --train-mode
  std::string detail; // of the text only: what differs from finding to finding, where the reason names it
};

struct Initializer {
  std::string name;     // in the model at hand
  std::string original; // the exporter's dotted name, when it differs or the file tells it; else `name`
  Verdict verdict = Verdict::Constant;
  std::string reason;
};

struct Options {
  std::string loss; // "", "none", "cross-entropy", "mse", "bce-with-logits"; "" when not given
  std::string logits;
  std::string labels = "labels";
  std::string lossOutput;
  std::vector<std::string> train,
      freeze; // ECMAScript expressions, searched in the name; --train wins over --freeze
  bool trainMode = false, repair = false;
  std::set<std::string> allow;
  bool severalRanks = false;
  bool addsAdapters = false; ///< what trains is added to the model, beside --train
};

/// What lint asks of the compiler about an operator; see lintOperators() in LintOps.h.
struct Operators {
  std::function<bool(const std::string &domain, const std::string &op)> isSupported, hasGradient;
  /// On ONNX's operand numbers; asked only where ONNX itself lets a gradient through.
  std::function<bool(const std::string &domain, const std::string &op, size_t operand)> isDifferentiable;
};

struct Report {
  std::vector<Finding> findings; // errors, warnings, notes; each in the order of the graph
  std::vector<Initializer> initializers;
  std::vector<std::string> changes; // what --repair and --train-mode did, a sentence each
  std::vector<std::string> remarks; // what an option found nothing to do about, a sentence each
  std::vector<std::string> unknown; // what the file cannot tell, a sentence each
  std::vector<std::string> allowed; // errors that --allow accepts are findings still, but count as warnings

  /// From prepare(): the model as loaded, and with repairs and ties but not in training mode. What differs is
  /// what the exported file gets (exporter::editsBetween).
  std::shared_ptr<const model::Model> loaded, exported;

  bool hasErrors() const;
  /// Verdict of an initializer; Constant for a name that is none.
  Verdict verdict(const std::string &initializer) const;
};

/// Throws kedge::Error for a bad regular expression or a name that the model does not have.
Report check(const model::Model &, const Options &, const Operators &);

/// Mends in place what --repair can mend: splits merged parameters, restores zero biases, makes the distinct
/// rows of folded embeddings a parameter, gives transposed weights their name and layout back (with a
/// Transpose). What was mended loses the metadata that told of the damage. Returns a sentence a change.
std::vector<std::string> repair(model::Model &);

/// Copies of one parameter that constant folding made (a tied weight and its transposed copy) become one
/// tensor again. Not an option: a transposed weight is that parameter. Returns a sentence a change.
std::vector<std::string> tieCopies(model::Model &);

/// Dropout and BatchNormalization to training, in the newest form of the operator. Returns a sentence a
/// change.
std::vector<std::string> setTrainMode(model::Model &);

/// The whole of it, as compile, plan and lint do: repairs, ties and training mode in place where the options
/// ask for them. The report is about the model before ties: tensors that ties remove are in it still.
Report prepare(model::Model &, const Options &, const Operators &);

/// Row of an embedding that gets no gradient through this Gather (fx_node's padding_idx).
std::optional<int64_t> paddingIndex(const model::Node &);

/// Dotted module path of a node by the exporter's metadata; "" when it has none.
std::string moduleOf(const model::Node &);

struct TextOptions {
  bool colour = false;
  size_t width = 100;
};
std::string toText(const Report &, const model::Model &, const TextOptions & = {});
/// The contract's schema: findings[] and initializers[].
std::string toJson(const Report &);

} // namespace kedge::lint
