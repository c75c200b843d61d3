#include "lib/Lint/BufferUpdates.h"
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Modes.h"
#include "lib/Lint/Repair/Vocabulary.h"
#include "lib/Lint/Roles/RecurrentBias.h"
#include "lib/Lint/Traced.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <array>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Model;

std::string_view verdictName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Parameter:
    return "parameter";
  case Verdict::Frozen:
    return "frozen";
  case Verdict::Buffer:
    return "buffer";
  case Verdict::State:
    return "state";
  case Verdict::Constant:
    return "constant";
  }
  return "";
}

bool Report::hasErrors() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding &f) { return f.severity == Severity::Error; });
}

Verdict Report::verdict(const std::string &name) const {
  auto found = std::find_if(initializers.begin(), initializers.end(),
                            [&](const Initializer &i) { return i.name == name; });
  return found == initializers.end() ? Verdict::Constant : found->verdict;
}

std::string nodeName(const model::Node &node) { return node.name.empty() ? node.output(0) : node.name; }

std::string parentModule(const std::string &dotted) {
  size_t dot = dotted.find_last_of("./");
  return dot == std::string::npos ? std::string() : dotted.substr(0, dot);
}

bool FindingContext::trains(const std::string &tensor) const {
  auto found = verdicts.find(tensor);
  return found != verdicts.end() && found->second == Verdict::Parameter;
}

namespace {
const std::set<std::string> &allCodes() {
  static const std::set<std::string> codes = {"merged-parameters",  "tied-parameters",
                                              "computed-parameter", "buffer-by-name",
                                              "untied-parameters",  "dropped-bias",
                                              "folded-parameter",   "frozen-batchnorm",
                                              "fused-batchnorm",    "dropout-off",
                                              "label-type",         "no-gradient",
                                              "unsupported-op",     "activation-before-loss",
                                              "adapters-and-base",  "missing-weights",
                                              "nothing-trained",    "unused-parameter",
                                              "renamed-parameter",  "keyed-by-rank",
                                              "random-off",         "random-evaluation",
                                              "lost-detach",        "undecided-verdict",
                                              "updated-buffer",     "lost-update",
                                              "frozen-norm",        "not-finite",
                                              "lost-argument",      "scatter-order",
                                              "padding-row",        "sine-table",
                                              "constant-random"};
  return codes;
}

/// What compile cannot do, whoever accepts it.
const std::set<std::string> &unallowable() {
  static const std::set<std::string> codes = {"unsupported-op",  "no-gradient",       "label-type",
                                              "nothing-trained", "undecided-verdict", "not-finite"};
  return codes;
}

/// Codes that --allow names are reported still, but no longer stop anything.
void checkAllow(const LintOptions &options) {
  for (const std::string &code : options.allow)
    if (!allCodes().count(code))
      fail("--allow {}: there is no such finding; the codes are {}", code, fmt::join(allCodes(), ", "));
    else if (unallowable().count(code))
      fail("--allow {}: what that finding names cannot be compiled, so it cannot be accepted; kedge lint "
           "says how to mend it",
           code);
}

void applyAllow(Report &report, const LintOptions &options) {
  for (Finding &finding : report.findings)
    if (finding.severity == Severity::Error && options.allow.count(finding.code)) {
      finding.severity = Severity::Warning;
      if (std::find(report.allowed.begin(), report.allowed.end(), finding.code) == report.allowed.end())
        report.allowed.push_back(finding.code);
    }
}
} // namespace

Report check(const Model &model, const LintOptions &options, const Operators &operators) {
  checkAllow(options);
  Signature signature = Signature::of(model.graph);
  Uses uses(model.graph, signature);
  Damage damage = findDamage(model.graph, signature, uses);
  Reach reach(model, gradientRoots(model, options), operators);
  const Names names(model, options.former);
  const Roles roles(model.graph,
                    [&](const model::Node &node, size_t operand) { return reach.passes(node, operand); });
  Evidence evidence{model, signature, uses, damage, reach, names, roles};
  Report report;
  report.initializers = classify(evidence, options);
  Verdicts verdicts;
  for (const Initializer &initializer : report.initializers)
    verdicts[initializer.name] = initializer.verdict;
  FindingContext context{evidence,       options, operators, report.initializers, std::move(verdicts),
                         report.findings};
  findLostParameters(context);
  findMergedConstants(context);
  findLostStops(context);
  findLostArguments(context);
  findScatterOrder(context);
  findTraced(context);
  findInferenceMode(context);
  findTrainability(context);
  findDataFlow(context);
  findIntent(context);
  findRankKeyed(context);
  findUpdatedBuffers(context);
  findConstantRandom(context);
  findRandom(context, report.drawsInEvaluation);
  findVerdicts(context);
  findTables(context);
  report.unknown = unknownsOf(evidence);
  if (std::string text = removedBiases(evidence); options.compiles && !text.empty())
    report.remarks.push_back("not known: " + text);
  report.showsFrozen = recordsRequiresGrad(model.graph);
  applyAllow(report, options);
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding &a, const Finding &b) { return a.severity < b.severity; });
  return report;
}

/// ONNX's running variance is that of the population, PyTorch's is unbiased: training keeps PyTorch's.
static void keepStatisticsAsPyTorch(Model &model) {
  model::forEachNode(model.graph, [](model::Node &node) {
    if (node.is("BatchNormalization") && isBatchNormTraining(node))
      node.set(model::Attribute::makeInt("unbiased", 1));
  });
}

static std::vector<std::string> setModes(Model &model, const LintOptions &options) {
  return options.mode == Mode::Training   ? setTrainMode(model, options.trainModules)
         : options.mode == Mode::Recorded ? setRecordedModes(model)
                                          : std::vector<std::string>();
}

static void turnOn(Model &model, const LintOptions &options, Report &report,
                   std::vector<std::string> &changes) {
  const std::vector<std::string> done = setModes(model, options);
  changes.insert(changes.end(), done.begin(), done.end());
  report.modes = done;
  if (done.empty() && options.mode == Mode::Training)
    report.remarks.push_back(
        "--train-mode changed nothing: the file has no Dropout and no BatchNormalization that is not in "
        "training mode already");
}

/// What stays as it is, since the file or --train-only says so.
static void remarkFrozen(const Model &model, const LintOptions &options, Report &report) {
  size_t trained = 0, others = 0, byFile = 0;
  int64_t elements = 0;
  for (const Initializer &initializer : report.initializers) {
    if (const model::Tensor *tensor = model.graph.findInitializer(initializer.name);
        tensor && initializer.verdict == Verdict::Parameter) {
      ++trained;
      elements += tensor->numElements();
    }
    const bool frozen = initializer.verdict == Verdict::Frozen;
    others += frozen && initializer.reason == "--train-only";
    byFile += frozen && initializer.reason[0] != '-';
  }
  if (!options.trainOnly.empty())
    report.remarks.push_back(fmt::format("--train-only: {} tensors with {} elements train, and {} are frozen",
                                         trained, elements, others + byFile));
  else if (byFile != 0)
    report.remarks.push_back(fmt::format("{} tensors stay as they are: the file says that they require no "
                                         "gradient; --train REGEX trains them",
                                         byFile));
}

/// The file without what ends with training: random numbers, updates of buffers.
static void makeInference(const Model &model, const Noise &noise, Report &report) {
  Noise ends = noise;
  for (NoiseSwitch &one : switchesOf(findBufferUpdates(model.graph)))
    if (report.verdict(one.data) == Verdict::Buffer)
      ends.switches.push_back(std::move(one));
  if (ends.switches.empty())
    return;
  Model off = model;
  switchOff(off, ends);
  report.inference = std::make_shared<const Model>(std::move(off));
}

static std::set<std::string> trainedOf(const Report &report, std::set<std::string> names) {
  std::erase_if(names, [&](const std::string &name) { return report.verdict(name) != Verdict::Parameter; });
  return names;
}

/// What compile would mend by itself, in a report that lists all.
static void markMended(Report &report, Model model, LintOptions options, const Operators &operators) {
  if (options.compiles || options.repair != Repair::Off || options.mode != Mode::Asked)
    return;
  options.repair = options.strict ? Repair::Off : Repair::Recorded;
  options.mode = Mode::Recorded;
  if (options.repair != Repair::Off) {
    repair(model, options.repair);
    repairTraced(model, options);
  }
  setModes(model, options);
  std::set<std::array<std::string, 4>> left;
  for (const Finding &finding : check(model, options, operators).findings)
    if (finding.severity == Severity::Error)
      left.insert({finding.code, finding.node, finding.tensor, finding.detail});
  for (Finding &finding : report.findings)
    finding.mended = finding.severity == Severity::Error && finding.repairable &&
                     !left.count({finding.code, finding.node, finding.tensor, finding.detail});
}

/// After ties, so that copies are one tensor.
static void resize(Model &model, const VocabularySize &wanted, Report &report,
                   std::vector<std::string> &changes) {
  const std::vector<std::string> done = resizeVocabulary(model, wanted);
  changes.insert(changes.end(), done.begin(), done.end());
  if (done.empty())
    report.remarks.push_back(
        fmt::format("--resize-vocab {}: the vocabulary has that many tokens already", wanted.text()));
}

Report prepare(Model &model, const LintOptions &asked, const Operators &operators) {
  setPaddingRows(model, asked);
  auto loaded = std::make_shared<const Model>(model);
  std::vector<std::string> changes;
  auto note = [&](std::vector<std::string> more) { changes.insert(changes.end(), more.begin(), more.end()); };
  LintOptions options = asked;
  options.former = nameTraced(model);
  checkTie(model, options.tie);
  options.trainedAtExport = NormModes(model.graph).anyTrained();
  if (options.repair != Repair::Off) {
    note(repair(model, options.repair));
    note(repairTraced(model, options));
  }
  Model checked = model;
  setModes(checked, options);
  Report report = check(checked, options, operators);
  markMended(report, model, options, operators);
  if (!options.addsAdapters)
    findNothingTrained(checked, report);
  remarkFrozen(checked, options, report);
  note(tieCopies(model));
  note(tieTraced(model, options));
  if (options.vocabulary)
    resize(model, *options.vocabulary, report, changes);
  report.loaded = std::move(loaded);
  report.exported = std::make_shared<const Model>(model);
  const Noise noise = findNoise(model.graph);
  makeInference(model, noise, report);
  turnOn(model, options, report, changes);
  report.trained = report.modes.empty() ? report.exported : std::make_shared<const Model>(model);
  chooseByMode(model, noise);
  updateBuffers(model.graph, findBufferUpdates(model.graph),
                [&](const std::string &name) { return report.verdict(name) == Verdict::Buffer; });
  keepStatisticsAsPyTorch(model);
  holdHalves(model.graph, trainedOf(report, heldHalves(model)));
  report.changes = std::move(changes);
  return report;
}

} // namespace kedge::lint
