#include "lib/Lint/Classify.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Roles/Judgement.h"
#include "lib/Lint/Roles/RecurrentBias.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"
#include "runtime/io/NamePattern.h"
#include <algorithm>

namespace kedge::lint {
using model::Model;
using model::Node;
using model::Tensor;
using model::trainingDomain;

namespace {
std::vector<rt::NamePattern> compileAll(const std::vector<std::string> &patterns, const char *option) {
  std::vector<rt::NamePattern> compiled;
  for (const std::string &pattern : patterns)
    try {
      compiled.emplace_back(pattern);
    } catch (const rt::PatternError &error) {
      fail("{} '{}' is no ECMAScript expression: {}", option, pattern, error.what());
    }
  return compiled;
}

/// Expressions of an option, and which of them change a verdict. One that changes none was not meant so.
class NameOption {
public:
  NameOption(const char *option, const std::vector<std::string> &texts,
             const std::map<std::string, std::string> &former)
      : option(option), texts(texts), former(former), patterns(compileAll(texts, option)),
        used(texts.size(), false) {}

  bool given() const { return !texts.empty(); }
  bool fits(const Initializer &tensor) const {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const rt::NamePattern &pattern) { return isIn(pattern, tensor); });
  }
  /// Those that fit this name decide what the tensor is.
  void decides(const Initializer &tensor) {
    for (size_t i = 0; i < patterns.size(); ++i)
      used[i] = used[i] || isIn(patterns[i], tensor);
  }

  /// `all`: every initializer; `candidates`: those that the option can do something about.
  void checkUsed(const std::string &model, const std::vector<Initializer> &all,
                 const std::vector<std::string> &candidates, const char *what) const {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (used[i])
        continue;
      for (const Initializer &tensor : all)
        if (isIn(patterns[i], tensor))
          fail("{}: {} '{}' {}", model, option, texts[i], whyUnused(tensor, texts[i], what));
      fail("{}: {} '{}' matches nothing {}{}", model, option, texts[i], what,
           rt::nearMisses(texts[i], candidates));
    }
  }

private:
  bool isIn(const rt::NamePattern &pattern, const Initializer &tensor) const {
    auto old = former.find(tensor.name);
    return pattern.isIn(tensor.name) || pattern.isIn(tensor.original) ||
           (old != former.end() && pattern.isIn(old->second));
  }

  std::string whyUnused(const Initializer &tensor, const std::string &text, const char *what) const {
    if (tensor.verdict == Verdict::Parameter && std::string_view(option) == "--train")
      return fmt::format("changes nothing: '{}' trains without it; --train-only '{}' trains these alone, and "
                         "freezes all others",
                         tensor.original, text);
    if (tensor.verdict == Verdict::Parameter)
      return fmt::format(
          "changes nothing: '{}' trains by --train, which wins; --train-only REGEX freezes all "
          "that it does not match",
          tensor.original);
    if (tensor.verdict == Verdict::Frozen)
      return fmt::format("changes nothing: '{}' is frozen already ({}); --train-only REGEX freezes all that "
                         "it does not match",
                         tensor.original, tensor.reason);
    return fmt::format("matches '{}', which is a {} ({}), and nothing {}", tensor.original,
                       verdictName(tensor.verdict), tensor.reason, what);
  }

  const char *option;
  std::vector<std::string> texts;
  const std::map<std::string, std::string> &former; // names in the file, of tensors that it had not named
  std::vector<rt::NamePattern> patterns;
  std::vector<bool> used;
};

/// training_info: bound and derived is a parameter, bound otherwise is state.
std::map<std::string, Verdict> trainingVariables(const Model &model) {
  std::map<std::string, Verdict> verdicts;
  for (const model::TrainingInfo &info : model.trainingInfo) {
    std::set<std::string> derived;
    if (info.algorithm)
      for (const Node &node : info.algorithm->nodes)
        if (node.is("Gradient", trainingDomain))
          for (const std::string &name : node.attrStrings("xs"))
            derived.insert(name);
    for (const auto &[variable, value] : info.updateBinding)
      verdicts[variable] = derived.count(variable) ? Verdict::Parameter : Verdict::State;
  }
  return verdicts;
}

std::string list(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

class Classifier {
public:
  Classifier(const Evidence &evidence, const LintOptions &options)
      : evidence(evidence), train("--train", options.train, options.former),
        trainOnly("--train-only", options.trainOnly, options.former),
        freeze("--freeze", options.freeze, options.former), adapts(options.addsAdapters),
        names(evidence.names), roles(evidence.roles), held(heldHalves(evidence.model)),
        variables(trainingVariables(evidence.model)) {
    for (const Node *node : stepNodes(evidence.model))
      for (size_t k = 0; k < node->inputs.size(); ++k)
        readers[node->inputs[k]].push_back({node, k});
  }

  Initializer judge(const Tensor &tensor) {
    Initializer verdict{tensor.name, originalName(tensor, evidence), Verdict::Constant, ""};
    if (!byTrainingInfo(tensor, verdict) && !byMetadata(tensor, verdict))
      byRole(tensor, verdict);
    byOption(tensor, verdict);
    return verdict;
  }

  void checkOptions(const std::vector<Initializer> &verdicts) const {
    const std::string &path = evidence.model.path;
    train.checkUsed(path, verdicts, trainable, "that can train");
    trainOnly.checkUsed(path, verdicts, trainable, "that can train");
    if (trainOnly.given() && !onlySome)
      fail("{}: --train-only changes nothing: it matches all that trains; leave it out", path);
    if (!adapts) // which freeze all
      freeze.checkUsed(path, verdicts, trained, "that trains");
  }

private:
  bool byTrainingInfo(const Tensor &tensor, Initializer &out) const {
    if (evidence.model.trainingInfo.empty())
      return false;
    auto found = variables.find(tensor.name);
    out.verdict = found == variables.end() ? Verdict::Constant : found->second;
    out.reason = found == variables.end()            ? "training_info updates it nowhere"
                 : out.verdict == Verdict::Parameter ? "training_info updates it, and Gradient derives it"
                                                     : "training_info updates it";
    return true;
  }

  bool decide(Initializer &out, Verdict verdict, std::string reason) const {
    out.verdict = verdict;
    out.reason = std::move(reason);
    return true;
  }

  bool byMetadata(const Tensor &tensor, Initializer &out) const {
    const model::Graph &graph = evidence.model.graph;
    if (!model::isFloat(tensor.dtype) && !evidence.signature.present())
      return decide(out, Verdict::Constant,
                    fmt::format("{} values carry no gradient", model::dtypeName(tensor.dtype)));
    if (const std::optional<bool> grad = requiresGrad(tensor, graph); grad && model::isFloat(tensor.dtype))
      return *grad ? decide(out, Verdict::Parameter, "the file says that it requires a gradient")
                   : decide(out, Verdict::Frozen, "the file says that it requires no gradient");
    std::string kind = metadataOf(tensor, graph, key::inputKind);
    if (kind == "PARAMETER")
      return decide(out, Verdict::Parameter, "the file marks it as a parameter");
    if (kind == "CONSTANT_TENSOR")
      return decide(out, Verdict::Constant, "the file marks it as a constant");
    if (kind == "BUFFER")
      return decide(out, Verdict::Buffer, "the file marks it as a buffer");
    if (const SignatureEntry *entry = evidence.signature.byTarget(tensor.name)) {
      if (entry->kind == SignatureKind::Parameter)
        return decide(out, Verdict::Parameter, "the graph signature lists it as a parameter");
      if (entry->kind == SignatureKind::Buffer)
        return decide(out, Verdict::Buffer, "the graph signature lists it as a buffer");
    }
    if (const Folded *folded = evidence.damage.foldedOf(tensor.name)) {
      if (folded->isLoss())
        return decide(out, Verdict::Constant, "computed at export from " + list(folded->sources));
      const char *how = folded->kind == Folding::Transposed ? "transposed" : "reshaped";
      return decide(out, Verdict::Parameter, fmt::format("'{}', {} at export", folded->sources[0], how));
    }
    if (std::string name = agreedPlaceholder(evidence.uses.of(tensor.name));
        !name.empty() && model::isFloat(tensor.dtype)) {
      bool parameter = Signature::isParameter(name);
      return decide(out, parameter ? Verdict::Parameter : Verdict::Buffer,
                    fmt::format("the exporter's call reads {} '{}' here", parameter ? "parameter" : "buffer",
                                evidence.signature.nameOf(name)));
    }
    if (evidence.damage.mergedOf(tensor.name))
      return decide(out, Verdict::Parameter, "stands for several parameters");
    if (evidence.signature.present())
      return decide(out, Verdict::Constant, "the graph signature does not list it");
    return false;
  }

  /// Files without a record: names, then roles; where these disagree or say nothing, nobody guesses.
  bool byRole(const Tensor &tensor, Initializer &out) const {
    const NameSays says = names.says(tensor.name);
    auto found = readers.find(tensor.name);
    if (found != readers.end())
      for (auto [node, operand] : found->second)
        if (isRunningStatistic(*node, operand))
          return statistic(tensor, out);
    if (!evidence.reach.reaches(tensor.name))
      return decide(out, Verdict::Constant,
                    found == readers.end() ? "no node reads it" : "no gradient reaches it");
    if (says == NameSays::Buffer)
      return names.isFrozenNorm(tensor.name)       ? decide(out, Verdict::Buffer, frozenNormReason)
             : names.isSpectralVector(tensor.name) ? decide(out, Verdict::Buffer, bufferNameReason)
             : names.exporter().empty() || names.exporter() == "PyTorch"
                 ? guess(out, Verdict::Buffer, bufferNameReason)
                 : decide(out, Verdict::Buffer, names.exporter() + " calls a statistic so");
    const std::vector<GraphRole> claims = roles.of(tensor.name);
    Judgement judgement = judgeByRole(tensor, says, claims);
    if (judgement.undecided && std::any_of(claims.begin(), claims.end(), [&](const GraphRole &role) {
          return role.node && names.isFusedNorm(*role.node);
        }))
      judgement = judgeByRole(tensor, NameSays::FusedNorm, claims);
    out.verdict = judgement.verdict;
    out.reason = judgement.reason;
    if (held.count(tensor.name))
      out.reason += "; its recurrent half, all zeros, stays so: Keras has one bias";
    out.guessed = judgement.guessed;
    out.undecided = judgement.undecided;
    return true;
  }

  /// tf2onnx stores a fresh scale and a fresh variance, both ones, as one tensor.
  bool statistic(const Tensor &tensor, Initializer &out) const {
    if (names.exporter() == "tf2onnx")
      for (const GraphRole &role : roles.of(tensor.name))
        if (role.claim == Claim::Parameter && evidence.reach.reaches(tensor.name)) {
          out.undecided = true;
          return decide(out, Verdict::Buffer,
                        "it is " + role.what +
                            ", and running statistics of a norm: the exporter stored fresh "
                            "tensors of equal values once; set them apart, or train a step, before "
                            "the export");
        }
    return decide(out, Verdict::Buffer, "running statistics of a normalization");
  }

  bool guess(Initializer &out, Verdict verdict, std::string reason) const {
    out.guessed = true;
    return decide(out, verdict, std::move(reason));
  }

  void byOption(const Tensor &tensor, Initializer &out) {
    if (!model::isFloat(tensor.dtype))
      return;
    trainable.push_back(out.original);
    const bool wanted = train.fits(out), kept = freeze.fits(out), open = out.undecided;
    if ((out.guessed || out.undecided) && (wanted || kept)) { // the user has said it
      out.guessed = out.undecided = false;
      out.reason = wanted ? "--train" : "--freeze";
      (wanted ? train : freeze).decides(out);
    }
    if (trainOnly.given())
      byTrainOnly(out);
    if (out.verdict == Verdict::Parameter || open) {
      trained.push_back(out.original);
      if (kept && wanted)
        train.decides(out); // it wins
      else if (kept) {
        freeze.decides(out);
        decide(out, Verdict::Frozen, "--freeze");
      }
    }
    if (out.verdict != Verdict::Parameter && wanted) {
      train.decides(out);
      decide(out, Verdict::Parameter, "--train");
    }
  }

  /// Of the parameters, those that the file has frozen included, these train and no others.
  void byTrainOnly(Initializer &out) {
    if (out.verdict != Verdict::Parameter && out.verdict != Verdict::Frozen && !out.undecided)
      return;
    const bool wanted = trainOnly.fits(out), changes = wanted != (out.verdict == Verdict::Parameter);
    onlySome = onlySome || changes || out.undecided || out.guessed;
    out.guessed = out.undecided = false; // the user has said it
    if (wanted)
      trainOnly.decides(out);
    if (changes)
      decide(out, wanted ? Verdict::Parameter : Verdict::Frozen, "--train-only");
  }

  const Evidence &evidence;
  NameOption train, trainOnly, freeze;
  bool adapts;           ///< adapters train, and what --train names
  bool onlySome = false; ///< --train-only has changed a verdict
  const Names &names;
  const Roles &roles;
  std::set<std::string> held;                  ///< recurrent biases of which one half is none
  std::vector<std::string> trainable, trained; ///< names, before options
  std::map<std::string, Verdict> variables;
  std::map<std::string, std::vector<std::pair<const Node *, size_t>>> readers;
};
} // namespace

std::optional<bool> requiresGrad(const Tensor &tensor, const model::Graph &graph) {
  const std::string text = metadataOf(tensor, graph, key::requiresGrad);
  if (text.empty())
    return std::nullopt;
  if (text != "true" && text != "false")
    fail("the metadata '{}' of the initializer '{}' is '{}'; expected 'true' or 'false'", key::requiresGrad,
         tensor.name, text);
  return text == "true";
}

bool recordsRequiresGrad(const model::Graph &graph) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [&](const Tensor &tensor) { return requiresGrad(tensor, graph).has_value(); });
}

std::vector<std::function<bool(const std::string &)>> patternsOf(const std::vector<std::string> &texts,
                                                                 const char *option) {
  std::vector<std::function<bool(const std::string &)>> patterns;
  for (rt::NamePattern &pattern : compileAll(texts, option))
    patterns.push_back(
        [pattern = std::move(pattern)](const std::string &name) { return pattern.isIn(name); });
  return patterns;
}

std::string similarNames(const std::string &wanted, const std::vector<std::string> &names) {
  return rt::nearMisses(wanted, names);
}

std::string originalName(const Tensor &tensor, const Evidence &evidence) {
  if (std::string own = ownPlaceholder(tensor, evidence.model.graph, evidence.signature); !own.empty())
    return evidence.signature.nameOf(own);
  if (const Folded *folded = evidence.damage.foldedOf(tensor.name); folded && folded->sources.size() == 1)
    return folded->sources[0];
  std::string agreed =
      model::isFloat(tensor.dtype) ? agreedPlaceholder(evidence.uses.of(tensor.name)) : std::string();
  return agreed.empty() ? tensor.name : evidence.signature.nameOf(agreed);
}

std::vector<Initializer> classify(const Evidence &evidence, const LintOptions &options) {
  Classifier classifier(evidence, options);
  std::vector<Initializer> verdicts;
  auto judgeAll = [&](const model::Graph &graph) {
    for (const Tensor &tensor : graph.initializers)
      verdicts.push_back(classifier.judge(tensor));
  };
  judgeAll(evidence.model.graph);
  for (const model::TrainingInfo &info : evidence.model.trainingInfo)
    if (info.algorithm)
      judgeAll(*info.algorithm);
  classifier.checkOptions(verdicts);
  return verdicts;
}

} // namespace kedge::lint
