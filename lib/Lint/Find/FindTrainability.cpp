#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Model/Specialize.h"

namespace kedge::lint {
using model::Node;

namespace {
std::string operatorName(const Node &node) {
  return node.domain.empty() ? node.opType : node.domain + "." + node.opType;
}

void findUnsupported(FindingContext &context) {
  auto visit = [&](const Node &node) {
    const std::string &why = node.meta(model::whyKey);
    if (!context.operators.isSupported(node.domain, node.opType))
      context.findings.push_back({Severity::Error, "unsupported-op", nodeName(node), node.output(0),
                                  moduleOf(node),
                                  fmt::format("operator {} (opset {}) is not supported{}{}",
                                              operatorName(node), node.opset, why.empty() ? "" : ": ", why),
                                  "replace it in the model, or export with another opset", false, ""});
  };
  model::forEachNode(context.graph(), visit);
  for (const model::TrainingInfo &info : context.evidence.model.trainingInfo)
    if (info.algorithm)
      model::forEachNode(*info.algorithm, visit);
}

void findMissingGradients(FindingContext &context) {
  std::set<std::string> trained;
  for (const Initializer &initializer : context.initializers)
    if (initializer.verdict == Verdict::Parameter)
      trained.insert(initializer.name);
  for (const Node *node : context.evidence.reach.between(trained)) {
    if (!context.operators.isSupported(node->domain, node->opType) ||
        context.operators.hasGradient(node->domain, node->opType))
      continue;
    context.findings.push_back(
        {Severity::Error, "no-gradient", nodeName(*node), node->output(0), moduleOf(*node),
         fmt::format("parameters before this {} get no gradient: it has none yet", operatorName(*node)),
         "replace the operator, or freeze what is before it with --freeze", false, ""});
  }
}

void findUnused(FindingContext &context) {
  for (const Initializer &initializer : context.initializers) {
    if (initializer.verdict != Verdict::Parameter || context.evidence.reach.reaches(initializer.name))
      continue;
    bool read = !context.evidence.uses.of(initializer.name).empty();
    context.findings.push_back({Severity::Warning, "unused-parameter", "", initializer.name,
                                parentModule(initializer.original),
                                read ? "no gradient reaches it: it will be neither updated nor decayed"
                                     : "no node reads it: it will be neither updated nor decayed",
                                "none needed if the model means it so; --freeze silences this", false, ""});
  }
}

void checkLabels(FindingContext &context) {
  const std::optional<LossFunction> loss = context.options.loss;
  const model::ValueInfo *labels = context.graph().findInput(context.options.labels);
  if (!labels || !loss || loss == LossFunction::None || labels->dtype == model::ElementType::Undefined)
    return;
  const LossLabels kind = labelsOf(*loss);
  if (kind == LossLabels::None)
    return;
  bool classes = kind != LossLabels::Numbers;
  bool fits = classes
                  ? labels->dtype == model::ElementType::Int64 || labels->dtype == model::ElementType::Int32
                  : model::isFloat(labels->dtype);
  if (!fits)
    context.findings.push_back(
        {Severity::Error, "label-type", "", labels->name, "",
         fmt::format("{} takes {} labels, but input {} is {}", wordOf(*loss),
                     classes ? "int64 or int32" : "float", labels->name, model::dtypeName(labels->dtype)),
         "name another input with --labels, or choose the loss that fits", false, ""});
}
} // namespace

void findTrainability(FindingContext &context) {
  findUnsupported(context);
  findMissingGradients(context);
  findUnused(context);
  checkLabels(context);
}

} // namespace kedge::lint
