// One function a family of findings; check() calls them in this order and sorts by severity.
#pragma once
#include "lib/Lint/Classify.h"

namespace kedge::lint {

using Verdicts = std::map<std::string, Verdict>;

struct FindingContext {
  const Evidence &evidence;
  const LintOptions &options;
  const Operators &operators;
  const std::vector<Initializer> &initializers;
  Verdicts verdicts;
  std::vector<Finding> &findings;

  const model::Graph &graph() const { return evidence.model.graph; }
  bool trains(const std::string &tensor) const;
};

/// merged-parameters, dropped-bias, folded-parameter, fused-batchnorm, renamed-parameter.
void findLostParameters(FindingContext &);
/// merged-parameters: a parameter and a constant.
void findMergedConstants(FindingContext &);
/// lost-argument.
void findLostArguments(FindingContext &);
/// scatter-order.
void findScatterOrder(FindingContext &);
/// lost-detach.
void findLostStops(FindingContext &);
/// undecided-verdict, not-finite, frozen-norm; fused-batchnorm by names.
void findVerdicts(FindingContext &);
/// merged-parameters, untied-parameters, tied-parameters, renamed-parameter, computed-parameter,
/// buffer-by-name in files without a record.
void findTraced(FindingContext &);
/// frozen-batchnorm, dropout-off.
void findInferenceMode(FindingContext &);
/// no-gradient, unsupported-op, unused-parameter, label-type.
void findTrainability(FindingContext &);
/// unsupported-op: control flow that follows data.
void findDataFlow(FindingContext &);
/// activation-before-loss, adapters-and-base, missing-weights.
void findIntent(FindingContext &);
/// nothing-trained.
void findNothingTrained(const model::Model &, Report &);
/// What the file cannot tell, a sentence each.
std::vector<std::string> unknownsOf(const Evidence &);
/// That of a fresh model of Keras, whose biases of zeros its exporter removes; "" where none can be gone.
std::string removedBiases(const Evidence &);
/// random-off, random-evaluation; the names of the latter's nodes, unless they are accepted.
/// The optimizer of torch.onnx.export computes Bernoulli like any other operator where its input is a
/// constant.
void findConstantRandom(FindingContext &);
void findRandom(FindingContext &, std::vector<std::string> &drawsInEvaluation);
/// updated-buffer, lost-update.
void findUpdatedBuffers(FindingContext &);
/// keyed-by-rank.
void findRankKeyed(FindingContext &);

/// padding-row, sine-table.
void findTables(FindingContext &);

/// Errors about modules in evaluation mode, which --train-mode mends.
inline bool isOfMode(const Finding &finding) {
  return finding.repairable && (finding.code == "frozen-batchnorm" || finding.code == "dropout-off");
}

/// "3 norms are gone", for findings of one code.
std::string headlineOf(const std::string &code, size_t n);

/// Name of a node in findings: its own, or its first output's.
std::string nodeName(const model::Node &);
/// "a.b.weight" -> "a.b".
std::string parentModule(const std::string &dotted);

} // namespace kedge::lint
