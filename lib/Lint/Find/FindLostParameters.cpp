#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Repair/Repair.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {
const char *const exportAgain = "export again with torch.onnx.export(..., optimize=False)";

std::string mendOr(const std::string &otherwise) { return "compile with --repair, or " + otherwise; }

/// Evidence that disagrees is not mended, whoever asks.
void findContradictions(FindingContext &context) {
  for (const Contradiction &one : context.evidence.damage.contradictions)
    context.findings.push_back(
        {Severity::Error, "undecided-verdict", "", one.place, "", one.reason, exportAgain, false, ""});
}

void findMergedParameters(FindingContext &context) {
  const Signature &signature = context.evidence.signature;
  for (const Merged &merged : context.evidence.damage.merged) {
    const Tensor *tensor = context.graph().findInitializer(merged.tensor);
    std::string owner = ownPlaceholder(*tensor, context.graph(), signature);
    bool ownerStays = std::any_of(merged.names.begin(), merged.names.end(),
                                  [&](const auto &e) { return e.first == owner; });
    if (!ownerStays)
      owner = merged.names.front().first;
    for (const auto &[placeholder, uses] : merged.names) {
      if (placeholder == owner)
        continue;
      const Node &node = context.graph().nodes[uses.front().node];
      Finding finding{Severity::Error,
                      "merged-parameters",
                      nodeName(node),
                      merged.tensor,
                      moduleOf(node),
                      "",
                      mendOr(exportAgain),
                      true,
                      ""};
      std::string shared = signature.nameOf(owner);
      finding.reason =
          placeholder.empty()
              ? fmt::format("a constant was merged with parameter '{}' of equal content; it would be trained",
                            shared)
              : fmt::format("'{}' was merged with '{}' of equal content; one tensor would train for both",
                            signature.nameOf(placeholder), owner.empty() ? "a constant" : shared);
      finding.detail =
          "stands for " + (placeholder.empty() ? std::string("a constant") : signature.nameOf(placeholder));
      context.findings.push_back(std::move(finding));
    }
  }
}

void findSharedNodesOf(FindingContext &context) {
  const Signature &signature = context.evidence.signature;
  for (const SharedNode &shared : context.evidence.damage.shared)
    for (const auto &[use, placeholder] : shared.parameters) {
      const Node &node = context.graph().nodes[shared.node];
      std::string name = signature.nameOf(placeholder);
      context.findings.push_back(
          {Severity::Error, "merged-parameters", nodeName(node), node.input(use.operand), parentModule(name),
           fmt::format("'{}' was merged with '{}' of equal content, and the nodes that read them with it; "
                       "one tensor would train for both",
                       name, signature.nameOf(*use.placeholder)),
           mendOr(exportAgain), true, "stands for " + name});
    }
}

void findDroppedBiases(FindingContext &context) {
  for (const DroppedBias &dropped : context.evidence.damage.dropped) {
    const Node &node = context.graph().nodes[dropped.node];
    std::string name = context.evidence.signature.nameOf(dropped.placeholder);
    context.findings.push_back({Severity::Error, "dropped-bias", nodeName(node), name, moduleOf(node),
                                "it was zero, so the exporter left it out; it would never train",
                                mendOr(exportAgain), true, ""});
  }
}

std::string foldedReason(const Folded &folded, const Tensor &tensor) {
  std::string shape = fmt::format("{}", fmt::join(tensor.dims, "x"));
  switch (folded.kind) {
  case Folding::Rows:
  case Folding::Places:
  case Folding::FirstRow:
    return fmt::format("the rows of '{}' that the export looked up are a constant of shape {}",
                       folded.sources[0], shape);
  case Folding::Part:
    return fmt::format("a part or repetition of '{}' is a constant of shape {}", folded.sources[0], shape);
  default:
    return fmt::format("computed at export from '{}', which would not train",
                       fmt::join(folded.sources, "', '"));
  }
}

void findFoldedParameters(FindingContext &context) {
  for (const Folded &folded : context.evidence.damage.folded) {
    const Tensor &tensor = *context.graph().findInitializer(folded.tensor);
    if (!folded.isLoss() || context.trains(folded.tensor))
      continue;
    const Use &use = context.evidence.uses.of(folded.tensor).front();
    bool repairable = isRepairable(folded, tensor) || context.evidence.damage.isUnfolded(folded.tensor);
    std::string otherwise = folded.kind == Folding::Computed
                                ? exportAgain
                                : std::string("export again with dynamic_shapes or optimize=False");
    std::string module = folded.kind == Folding::Computed && folded.sources.size() > 1
                             ? moduleOf(context.graph().nodes[use.node])
                             : parentModule(folded.sources[0]);
    context.findings.push_back(
        {Severity::Error, "folded-parameter", nodeName(context.graph().nodes[use.node]), folded.tensor,
         module, foldedReason(folded, tensor), repairable ? mendOr(otherwise) : otherwise, repairable, ""});
  }
}

/// Parameters of the signature that no tensor holds and no call of the file reads. A tied parameter is there
/// under its other name: a call of its module reads a parameter of another one.
std::vector<std::string> goneParameters(const FindingContext &context) {
  std::set<std::string> seen, served;
  for (const Initializer &initializer : context.initializers)
    seen.insert({initializer.name, initializer.original});
  for (size_t n = 0; n < context.graph().nodes.size(); ++n)
    if (const FxCall *call = context.evidence.uses.call(n))
      for (const std::string &value : call->refs()) {
        const std::string name = context.evidence.signature.nameOf(value);
        seen.insert(name);
        const std::string module = moduleOf(context.graph().nodes[n]);
        if (name != value && parentModule(name) != module)
          served.insert(module);
      }
  for (const Folded &folded : context.evidence.damage.folded)
    seen.insert(folded.sources.begin(), folded.sources.end());
  std::vector<std::string> gone;
  for (const SignatureEntry &entry : context.evidence.signature.all())
    if (entry.kind == SignatureKind::Parameter && !seen.count(entry.target) &&
        !seen.count(entry.placeholder) && !served.count(parentModule(entry.target)))
      gone.push_back(entry.target);
  return gone;
}

/// Whether what a parameter of `owner` became can be read in `reader`: there, within, or one or two modules
/// above.
bool isReadNear(const std::string &reader, const std::string &owner) {
  const std::string above = parentModule(owner);
  return reader == owner || reader == above || reader == parentModule(above) ||
         reader.starts_with(owner + ".");
}

/// Those of the parameters that a constant read in `reader` can have been computed from.
std::vector<std::string> sourcesNear(const std::string &reader, const std::vector<std::string> &gone) {
  std::vector<std::string> near;
  std::copy_if(gone.begin(), gone.end(), std::back_inserter(near),
               [&](const std::string &name) { return isReadNear(reader, parentModule(name)); });
  return near;
}

/// A constant that a call of the file knows as the result of another call, which is no longer there.
void findComputedConstants(FindingContext &context) {
  const std::vector<std::string> gone = goneParameters(context);
  if (gone.empty())
    return;
  for (const Initializer &initializer : context.initializers) {
    if (initializer.verdict != Verdict::Constant || context.evidence.damage.foldedOf(initializer.name) ||
        !context.evidence.reach.reaches(initializer.name) ||
        initializer.name.starts_with("scalar_tensor")) // a number of the model's text
      continue;
    for (const Use &use : context.evidence.uses.of(initializer.name)) {
      const FxCall *call = context.evidence.uses.call(use.node);
      const std::vector<std::string> refs = call ? call->refs() : std::vector<std::string>();
      if (std::find(refs.begin(), refs.end(), initializer.name) == refs.end())
        continue;
      const Node &node = context.graph().nodes[use.node];
      const std::vector<std::string> sources = sourcesNear(moduleOf(node), gone);
      if (sources.empty())
        continue;
      context.findings.push_back({Severity::Error, "folded-parameter", nodeName(node), initializer.name,
                                  moduleOf(node),
                                  fmt::format("computed at export, from what the file no longer says; of the "
                                              "parameters '{}' it holds nothing",
                                              fmt::join(sources, "', '")),
                                  exportAgain, false, ""});
      break;
    }
  }
}

void findFusedNorms(FindingContext &context) {
  for (const FusedNorm &fused : context.evidence.damage.fused) {
    const Node &node = context.graph().nodes[fused.node];
    context.findings.push_back(
        {Severity::Error, "fused-batchnorm", nodeName(node),
         fused.parameters.empty() ? node.output(0) : fused.parameters.front(), fused.module,
         fmt::format("the exporter multiplied the norm into the weights of a {}; it is gone", node.opType),
         exportAgain, false, ""});
  }
}

void findMadeConvolutions(FindingContext &context) {
  if (context.evidence.names.exporter() != "PyTorch" || context.evidence.signature.present())
    return;
  for (const Node &node : context.graph().nodes)
    if (isFoldedNorm(node) && context.trains(node.input(1)))
      context.findings.push_back(
          {Severity::Error, "fused-batchnorm", nodeName(node), node.input(1), parentModule(nodeName(node)),
           "the exporter multiplied a norm in evaluation mode into the weights of a Conv; it is gone",
           "export again with torch.onnx.export(..., training=torch.onnx.TrainingMode.PRESERVE)", false, ""});
}

void noteRenamed(FindingContext &context) {
  for (const Initializer &initializer : context.initializers) {
    if (initializer.verdict != Verdict::Parameter || initializer.original == initializer.name ||
        context.evidence.damage.mergedOf(initializer.name))
      continue;
    const std::vector<Use> &uses = context.evidence.uses.of(initializer.name);
    const Folded *folded = context.evidence.damage.foldedOf(initializer.name);
    if (uses.empty() || (folded && folded->isLoss()))
      continue;
    const char *how = !folded || folded->kind == Folding::Same ? "stored under another name"
                      : folded->kind == Folding::Transposed    ? "stored transposed"
                                                               : "stored in another shape";
    bool repairable = !folded || folded->kind != Folding::Renamed;
    context.findings.push_back(
        {Severity::Note, "renamed-parameter", nodeName(context.graph().nodes[uses.front().node]),
         initializer.name, parentModule(initializer.original),
         fmt::format("'{}', {}; it trains", initializer.original, how),
         repairable ? "none needed; --repair gives it its name and layout back" : "none needed", repairable,
         fmt::format("is {}, {}", initializer.original, how)});
  }
}
} // namespace

void findLostParameters(FindingContext &context) {
  findContradictions(context);
  findMergedParameters(context);
  findSharedNodesOf(context);
  findDroppedBiases(context);
  findFoldedParameters(context);
  findComputedConstants(context);
  findFusedNorms(context);
  findMadeConvolutions(context);
  noteRenamed(context);
}

} // namespace kedge::lint
