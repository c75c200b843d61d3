// Finds what would train wrongly without an error message: a verdict on every initializer,
// the findings, and repairs. Works on model::Model alone, from names and the exporter's
// metadata. Values of weights are read only where a rule needs them (masks, repairs).
#pragma once
#include "lib/Lint/VocabularySize.h"
#include "lib/Model/Model.h"
#include "lib/Support/LossFunction.h"
#include "lib/Support/Severity.h"
#include <functional>
#include <set>

namespace kedge::lint {

/// Domain of operators that only a compilation knows: ByMode(training, evaluation).
inline constexpr std::string_view ownDomain = "kedge";

enum class Verdict {
  Parameter, // trained
  Frozen,    // a parameter that stays as it is: the file says so, or --freeze or --train-only does
  Buffer, // state that changes in training without a gradient (running statistics), or that the file marks so
  State,  // other variables of a training_info (moments, step counters)
  Constant
};
std::string_view verdictName(Verdict);

struct Finding {
  Severity severity = Severity::Error;
  std::string code; // as in docs/guide/lint.md: "merged-parameters", "dropped-bias", ...
  std::string node; // node name; of an unnamed node its first output
  std::string tensor;
  std::string module; // dotted path of the module; "" if the file does not have it
  std::string reason;
  std::string remedy;
  bool repairable = false; // by --repair or --train-mode
  std::string detail;      // text only: what differs between findings with the same reason
  bool mended = false;     // compile mends it by itself
};

struct Initializer {
  std::string name;     // in the model at hand
  std::string original; // the exporter's dotted name, if known; otherwise `name`
  Verdict verdict = Verdict::Constant;
  std::string reason;
  bool guessed = false; // neither the file nor the operator that reads it says what it is
  bool undecided =
      false; // nothing says what it is, or names and roles disagree: an error until an option does
};

/// What happens to what an export did to the parameters.
enum class Repair {
  Off,      ///< it is reported
  Recorded, ///< what the file's own record decides is mended: what compile does by itself
  All       ///< what rests on values, too: rows of tables that were looked up at export
};

/// In which mode Dropout and BatchNormalization train.
enum class Mode {
  Asked,    ///< as the nodes have it; a module in evaluation mode is an error
  Recorded, ///< those in training mode that were so at export; without any, an error that asks
  AsFile,   ///< --train-mode=off: as the nodes have it
  Training  ///< --train-mode
};

struct LintOptions {
  std::optional<LossFunction> loss;
  std::string logits;
  std::string labels = "labels";
  std::vector<std::string> lossOutputs;
  /// ECMAScript expressions, searched in the name. --train-only freezes what it does not match, then --freeze
  /// what it matches; --train wins over both.
  std::vector<std::string> train, trainOnly, freeze;
  Mode mode = Mode::Asked;
  Repair repair = Repair::Off;
  bool compiles = false; ///< findings are what is left after what compile mends; else all, and which it mends
  std::map<std::string, int64_t> paddingRows; ///< --padding-row: expression -> row that gets no gradient
  std::optional<VocabularySize> vocabulary;   ///< --resize-vocab
  std::vector<std::string>
      trainModules;             ///< --train-mode=REGEX: these modules alone, whatever mode the exporter notes
  bool strict = false;          ///< verdicts that rest on a guess are errors
  std::vector<std::string> tie; // expressions, searched in the names of parameters that share a tensor
  std::set<std::string> allow;
  bool severalRanks = false;
  std::map<std::string, std::string>
      former;                   // set by prepare(): name -> name in the file, where the file had lost it
  bool trainedAtExport = false; // set by prepare(): some module of the file was in training mode
  bool addsAdapters = false;    ///< what trains is added to the model (adapters), besides what --train names
};

/// The questions about operators that lint asks the compiler; see lintOperators() in LintOps.h.
struct Operators {
  std::function<bool(const std::string &domain, const std::string &op)> isSupported, hasGradient;
  /// `operand` is ONNX's operand number. Called only where ONNX itself defines a gradient.
  std::function<bool(const std::string &domain, const std::string &op, size_t operand)> isDifferentiable;
};

struct Report {
  std::vector<Finding> findings; // errors, warnings, notes; each in the order of the graph
  std::vector<Initializer> initializers;
  std::vector<std::string> changes; // what repairs and modes changed, one sentence each: "how many: which"
  std::vector<std::string> remarks; // options that found nothing to do, one sentence each
  std::vector<std::string> unknown; // what cannot be known from the file, one sentence each
  bool showsFrozen = false;         // the file says what was frozen when it was exported
  std::vector<std::string>
      allowed; // errors accepted by --allow; they stay in the findings and count as warnings

  /// From prepare(): the model as loaded, and the model with repairs and ties but not in
  /// training mode. Their difference goes into the exported file (exporter::editsBetween).
  std::shared_ptr<const model::Model> loaded, exported;
  /// `exported` without the random numbers, besides Dropout's, and updates of buffers that end with training;
  /// null without any.
  std::shared_ptr<const model::Model> inference;
  /// Nodes that draw random numbers in evaluation, too, and are not accepted by --allow.
  std::vector<std::string> drawsInEvaluation;
  std::shared_ptr<const model::Model> trained; // the same in the modes that training has
  std::vector<std::string> modes;              // those of `changes` that are about modes

  bool hasErrors() const;
  /// The verdict on an initializer; Constant if there is no initializer of that name.
  Verdict verdict(const std::string &initializer) const;
};

/// Throws kedge::Error for a bad regular expression or a name that the model does not have.
Report check(const model::Model &, const LintOptions &, const Operators &);

/// Repairs in place: splits merged parameters, restores biases of zero, undoes foldings, and gives transposed
/// weights back their name and layout (with a Transpose). `Repair::All` also makes the distinct rows of a
/// table that was looked up a parameter of a name of its own. Removes the metadata that showed the damage.
/// Returns one sentence for each kind of change.
std::vector<std::string> repair(model::Model &, Repair = Repair::All);

/// Joins copies of one parameter that constant folding made (a tied weight and its transposed copy).
/// Always done, since a transposed copy is the same parameter. Returns one sentence for each change.
std::vector<std::string> tieCopies(model::Model &);

/// Sets Dropout and BatchNormalization to training mode, in the newest form of the operator: those whose name
/// or module fits one of the expressions; without expressions all, but for norms that were in eval() beside
/// others in train() when the file was exported. Returns one sentence for each change.
std::vector<std::string> setTrainMode(model::Model &, const std::vector<std::string> &modules = {});
/// The same for the modules that the record of the export shows in training mode, and no others.
std::vector<std::string> setRecordedModes(model::Model &);

/// The rows of --padding-row get no gradient through the Gathers that read these tables. Throws kedge::Error
/// for an expression that fits no table, and for a row that it does not have.
void setPaddingRows(model::Model &, const LintOptions &);

/// Everything that compile, plan and lint do: repairs, ties and training mode, in place, as the
/// options ask. The report is about the model before ties, so it still lists tensors that ties remove.
Report prepare(model::Model &, const LintOptions &, const Operators &);

/// The row of an embedding that gets no gradient through this Gather (padding_idx in the metadata fx_node, or
/// --padding-row).
std::optional<int64_t> paddingIndex(const model::Node &);

/// What PyTorch's function behind a node does to gradients, where the ONNX operators alone do not tell; by
/// the metadata fx_node.
struct PyTorchGradient {
  bool stops = false;             ///< detach()
  bool clamps = false;            ///< bounds that are numbers: nothing passes on them
  bool scalesByFrequency = false; ///< embedding(scale_grad_by_freq=True)
  bool firstOfEqual = false;      ///< max(dim) and min(dim): all of it goes to the first of equal elements
};
PyTorchGradient pyTorchGradient(const model::Node &);
/// Whether this Identity is a detach().
bool stopsGradient(const model::Node &);

/// Dotted module path of a node by the exporter's metadata; "" when it has none.
std::string moduleOf(const model::Node &);

struct TextOptions {
  bool colour = false;
  size_t width = 100;
  bool all = false;    ///< every finding; else three examples of those with one code and remedy
  std::string command; ///< "kedge compile m.onnx --loss mse", for the line that says what to type next
};
std::string toText(const Report &, const model::Model &, const TextOptions & = {});
/// Why compile stops: what is wrong in at most four lines for each kind of error.
std::string refusal(const Report &);
/// What compile mended by itself, in one sentence; "" when nothing.
std::string mendedText(const Report &);
/// The report as JSON (docs/guide/lint.md): findings[] and initializers[].
std::string toJson(const Report &);

} // namespace kedge::lint
