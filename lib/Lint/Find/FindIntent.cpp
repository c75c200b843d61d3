// What the user who exported the model most likely meant, and the file no longer says.
#include "lib/Lint/Find/Findings.h"
#include "lib/Model/ModelFile.h"
#include "runtime/io/NamePattern.h"
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;

namespace {

const Node *producerOf(const model::Graph &graph, const std::string &value) {
  for (const Node &node : graph.nodes)
    for (const std::string &output : node.outputs)
      if (output == value)
        return &node;
  return nullptr;
}

/// The node that makes a value's numbers: what moves or retypes them is passed over.
const Node *sourceOf(const model::Graph &graph, std::string value) {
  static const std::set<std::string> moves = {"Identity",  "Cast",    "Reshape",  "Squeeze",
                                              "Unsqueeze", "Flatten", "Transpose"};
  const Node *producer = producerOf(graph, value);
  while (producer && producer->domain.empty() && moves.count(producer->opType))
    producer = producerOf(graph, producer->input(0));
  return producer;
}

/// Cross-entropy and bce-with-logits make probabilities of their input themselves.
void checkActivation(FindingContext &context) {
  const LintOptions &options = context.options;
  if ((!options.lossOutputs.empty() && !options.loss) || (options.loss && !readsLogits(*options.loss)) ||
      !context.evidence.model.trainingInfo.empty())
    return;
  const std::string logits =
      options.logits.empty() ? onlyFloatOutput(context.graph(), options.lossOutputs) : options.logits;
  const Node *source = sourceOf(context.graph(), logits);
  if (!source || !(source->is("Softmax") || source->is("Sigmoid")))
    return;
  const bool named = options.loss.has_value();
  const std::string reason =
      fmt::format("the output '{}' comes from a {}, and {} in it already", logits, source->opType,
                  named ? fmt::format("--loss {} has that", wordOf(*options.loss))
                        : std::string("cross-entropy and bce-with-logits have that"));
  context.findings.push_back({named ? Severity::Error : Severity::Note, "activation-before-loss",
                              nodeName(*source), logits, moduleOf(*source), reason,
                              "export the value before it as an output, or choose --loss mse", false, ""});
}

/// Adapters train beside their base only because most files do not keep requires_grad.
void checkAdapters(FindingContext &context) {
  if (recordsRequiresGrad(context.graph()))
    return;
  static const rt::NamePattern adapter(
      "(^|[._/])(lora_[AB]|lora_embedding_[AB]|lora_magnitude_vector|ia3_l|adapter)([._/]|$)");
  std::vector<std::string> adapters, others;
  for (const Initializer &initializer : context.initializers)
    if (initializer.verdict == Verdict::Parameter)
      (adapter.isIn(initializer.original) ? adapters : others).push_back(initializer.original);
  if (adapters.empty() || others.empty())
    return;
  context.findings.push_back(
      {Severity::Warning, "adapters-and-base", "", adapters.front(), parentModule(adapters.front()),
       fmt::format(
           "{} tensors are adapters, and {} others train together with them: a file does not keep what "
           "was frozen when it was exported",
           adapters.size(), others.size()),
       "compile with --freeze '^(?!.*(lora_|ia3_|adapter))' to train the adapters alone", false, ""});
}

/// Compiling needs names and lengths alone; a program needs the bytes.
void checkWeightFiles(FindingContext &context) {
  std::set<std::string> told;
  for (const model::Tensor &tensor : context.graph().initializers) {
    if (tensor.storage != model::Tensor::Storage::External || told.count(tensor.path))
      continue;
    const int64_t size = model::regularFileSize(tensor.path);
    if (size >= 0 && static_cast<uint64_t>(size) >= tensor.offset + tensor.length)
      continue;
    told.insert(tensor.path);
    context.findings.push_back(
        {Severity::Warning, "missing-weights", "", tensor.name, "",
         size < 0
             ? fmt::format("its data file '{}' is missing: a program would not start",
                           tensor.externalLocation)
             : fmt::format("its data file '{}' has {} bytes and ends before it: a program would not start",
                           tensor.externalLocation, size),
         "put the data file into the model's folder, or start the program with --weights or --init", false,
         ""});
  }
}

} // namespace

void findNothingTrained(const model::Model &model, Report &report) {
  size_t frozen = 0, byFile = 0, integers = 0;
  for (const Initializer &initializer : report.initializers) {
    if (initializer.verdict == Verdict::Parameter)
      return;
    frozen += initializer.verdict == Verdict::Frozen;
    byFile += initializer.verdict == Verdict::Frozen && initializer.reason[0] != '-';
    const model::Tensor *tensor = model.graph.findInitializer(initializer.name);
    integers += tensor && !model::isFloat(tensor->dtype) && tensor->numElements() > 1;
  }
  const std::string reason =
      byFile != 0 && byFile == frozen
          ? fmt::format("the file says of all {} parameters that they require no gradient", frozen)
      : frozen != 0   ? fmt::format("--freeze keeps all {} parameters as they are", frozen)
      : integers != 0 ? fmt::format("{} tensors hold integers, which carry no gradient: a quantised "
                                    "model does not train",
                                    integers)
                      : std::string("no initializer is a parameter");
  report.findings.insert(report.findings.begin(),
                         {Severity::Error, "nothing-trained", "", "", "", reason,
                          byFile != 0   ? "name what trains by --train"
                          : frozen != 0 ? "narrow --freeze, or name what trains by --train"
                                        : "export the float model, or name what trains by --train",
                          false, ""});
}

void findIntent(FindingContext &context) {
  checkActivation(context);
  checkAdapters(context);
  checkWeightFiles(context);
}

} // namespace kedge::lint
