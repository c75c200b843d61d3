#include "driver/Compilation.h"
#include "driver/BudgetCheck.h"
#include "driver/FatalErrors.h"
#include "driver/OutputFiles.h"
#include "driver/Plugins.h"
#include "driver/RoundTrip.h"
#include "driver/options/LossChoice.h"
#include "driver/options/ParameterOptions.h"
#include "driver/options/ProgramOptions.h"
#include "driver/options/StepOptions.h"
#include "driver/options/WidthScales.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Import/ForTraining.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Model/ShardingCheck.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/io/Printable.h"
#include <algorithm>
#include <filesystem>
#include <mutex>

using namespace mlir;

namespace kedge::driver {
namespace {

void checkRanks(const CompileOptions &options) {
  const std::vector<int64_t> &ranks = options.model.ranks;
  if (ranks.size() > 1)
    fail("--ranks {}: expected one number of ranks; only a program takes several (kedge compile -o PROGRAM)",
         fmt::join(ranks, ","));
  if (options.replicas)
    fail("--replicas {}: a plan is of one mesh; give --mesh replica=R,data=D for R machines",
         wordOf(*options.replicas));
  if (options.partition.stage > 0 && ranks.front() == 1 && !options.isTrial() && options.worlds.empty())
    note("--zero {} has no effect on one rank: give --ranks N", options.partition.stage);
  else if (options.partition.stage > 0 && options.model.meshOfRanks().sizeOf(rt::Mesh::kParts) == 1 &&
           !options.isTrial() && options.worlds.empty())
    note("--zero {} has no effect on a mesh with one rank along data: give --mesh data=N",
         options.partition.stage);
}

/// What the algorithm of the file does not go together with.
void checkTrainingInfo(const CompileOptions &options) {
  const std::string &model = options.model.model;
  if (!options.trainingOptions.empty())
    fail("{}: the model's training_info says how it trains: {} cannot be given with it (--loss none and "
         "--loss-output "
         "NAME can)",
         model, fmt::join(options.trainingOptions, ", "));
  if (options.precision == pipelines::Precision::Fp16)
    fail("{}: --precision fp16: gradients of 16 bits need a loss scale, which the algorithm in the model's "
         "training_info does not "
         "have; expected fp32, bf16 or fp8",
         model);
  const int64_t most = *std::max_element(options.model.ranks.begin(), options.model.ranks.end());
  const int64_t apart = options.model.mesh ? options.model.mesh->sizeOf(rt::Mesh::kRows) : most;
  if (apart > 1)
    fail("{}: ranks with rows of their own are not available yet for a model whose training_info says how it "
         "trains: its gradients would not be summed over the {} ranks; expected one rank, or --mesh tensor=N",
         model, apart);
}

} // namespace

Compilation::Compilation(const CompileOptions &options)
    : options(options), context(dialectsWith(options.model.plugins), MLIRContext::Threading::DISABLED),
      pipelines(options, model) {
  context.loadAllAvailableDialects();
  if (!options.model.buckets.empty())
    fail("--shape: sizes in {{}} are not available yet here; give one size");
  if (!options.passesBefore.empty() || !options.passesAfter.empty()) {
    static std::once_flag once; // the registry is the process's
    std::call_once(once, kedge::pipelines::registerPasses);
    pipelines.checkAdded(context);
  }
  context.printOpOnDiagnostic(false); // the message names the node
  if (std::string path = std::filesystem::absolute(options.model.model).string(); !rt::isUtf8(path))
    fail("{}: the path is not UTF-8, and programs and reports note it as text; rename the file or its "
         "folder, or name it by "
         "another path",
         path);
  if (options.resumedFrom.empty()) { // what that keeps needs no file
    checkLossWeights(options.model);
    checkWidths(options);
    checkReadable(options);
  }
  model = model::loadModel(options.model.model, {.requireExternalData = false});
  const std::vector<std::string> leftOut =
      importer::settleForTraining(model, options.model.settled(), context);
  checkFiles(options, model);
  if (!options.model.configuration.empty())
    model::checkShardings(model, model::findConfiguration(model, options.model.configuration));
  if (!model.trainingInfo.empty())
    checkTrainingInfo(options);
  checkRanks(options);
  diagnostics.emplace(context, options.resumedFrom.empty() ? options.model.model : options.resumedFrom,
                      &model, options.trial == Trial::Silent, options.told);
  findings = lint::prepare(model, options.model.lintOptions(), importer::lintOperators(context));
  findings.remarks.insert(findings.remarks.end(), leftOut.begin(), leftOut.end());
  bool shown = options.isTrial() || !options.resumedFrom.empty();
  if (!shown)
    showFindings();
  if (findings.hasErrors())
    fail("{}: not compiled: lint found {}", options.model.model, lint::refusal(findings));
  if (!options.resumedFrom.empty())
    resume();
}

/// What was mended in one sentence, and what may be wrong; what stops the compilation is its error.
void Compilation::showFindings() {
  std::vector<std::string> notes = findings.remarks;
  if (std::string mended = lint::mendedText(findings); !mended.empty())
    notes.insert(notes.begin(), std::move(mended));
  for (const std::string &text : notes)
    note("{}", text);
  if (!findings.hasErrors() && !findings.findings.empty()) {
    lint::Report left = findings;
    left.changes.clear();
    left.remarks.clear();
    std::vector<Message> messages;
    for (const lint::Finding &finding : left.findings)
      messages.push_back(
          {finding.severity, finding.reason + "; " + finding.remedy, finding.code, finding.node});
    reporter().sayTogether(lint::toText(left, model), messages);
  }
}

Compilation::~Compilation() = default;

void Compilation::import() {
  if (done < Phase::Import) {
    importer::ImportOptions importing;
    importing.shapes = shapesOfParts();
    importing.roles = importer::rolesOf(findings);
    importing.configuration = options.model.configuration;
    importing.notesAllNodes = options.layoutsOnly;
    importing.needsElements = true;
    ir = importer::importModel(context, model, importing);
    if (!options.model.adapters.given())
      applyParameterOptions(*ir, options);
    checkRoundTrip(*ir, "import");
    save(Phase::Import);
  }
  if (done >= Phase::Model)
    return;
  run(Phase::Model);
  if (options.model.adapters.given())
    applyParameterOptions(*ir, options); // what trains is known now
  save(Phase::Model);
}

void Compilation::step() {
  if (done >= Phase::Step)
    return;
  chooseLoss();
  checkPrecision(options);
  checkOptimizer(options);
  if (!options.isTrial() && options.accumulatorType && options.accumulate == 1)
    note("--accumulate-dtype {}: without --accumulate there are no accumulators: without effect",
         wordOf(*options.accumulatorType));
  isJoined = canJoinParts() && joinParts();
  if (!isJoined)
    run(Phase::Step);
  using train::FunctionKind;
  func::FuncOp function = train::functionOf(*ir, FunctionKind::Step);
  if (!function)
    function = train::functionOf(*ir, FunctionKind::Micro);
  checkSameBits(function);
  counts = exporter::countStep(function);
  facts = lossFacts(function, isJoined ? stepOfJoinedParts() : stepOptions(options, model));
  if (isJoined)
    facts.update({{"accumulate", 1}, {"parts", 1}});
  checkMicroBatch();
  facts["training_info"] = !model.trainingInfo.empty();
  save(Phase::Step);
}

void Compilation::schedule(const ValueChooser &choose) {
  if (done >= Phase::Exec)
    return;
  analysis::DeviceModel device = analysis::loadDevice(options.deviceName());
  if (options.machine.convolution != lower::Convolutions::Auto && !options.onGpu())
    fail("--convolution {} needs --target cuda", wordOf(options.machine.convolution));
  if (isWanted(Phase::Schedule)) {
    run(Phase::Schedule);
    save(Phase::Schedule);
  }
  if (isWanted(Phase::Rematerialize)) {
    if (choose)
      rematerializePriced(choose);
    else
      run(Phase::Rematerialize);
    BudgetCheck(*ir, options).noteWithoutEffect();
    save(Phase::Rematerialize);
  } else if (choose && done < Phase::Rematerialize) {
    rematerializePriced(choose);
    sched::RecomputeNote(&context).removeAttr(*ir); // a plan is the same, priced or not
  }
  scheduled = analysis::launchesOf(*ir, device);
}

void Compilation::toExec(bool withKernels) {
  const bool numbers = !options.output.launchFile.empty() || options.model.ranks.front() > 1 ||
                       options.onGpu() || tracesLaunches;
  if (numbers)
    analysis::markLaunches(*ir);
  run(Phase::Exec, withKernels);
  if (numbers)
    numbered = analysis::launchesAsRun(*ir, scheduled, analysis::loadDevice(options.deviceName()));
  BudgetCheck(*ir, options).check();
  if (withKernels)
    save(Phase::Exec);
  kernelModule = kedge::pipelines::takeKernels(*ir);
}

void Compilation::plan() {
  if (done >= Phase::Exec)
    return;
  toExec(/*withKernels=*/false);
}

void Compilation::lower() {
  if (done >= Phase::Exec)
    return;
  toExec(/*withKernels=*/true);
}

/// Nothing is a default that the user did not see.
void Compilation::chooseLoss() {
  if (namesLoss(options.model) || !model.trainingInfo.empty())
    return;
  const std::string why =
      whyCrossEntropyFits(train::functionOf(*ir, train::FunctionKind::Model), options.model);
  if (!why.empty() && !options.isTrial())
    note("{}", why);
}

void Compilation::checkMicroBatch() {
  if (const int64_t rows = facts["batch"].get<int64_t>() * microBatchesOfRows();
      options.microBatch.value_or(rows) != rows)
    fail("--deepspeed-config {}: a micro-batch of {} rows is asked for ('train_micro_batch_size_per_gpu', or "
         "what "
         "'train_batch_size' leaves), but the model's has {}; make them agree, by --shape or in the file",
         options.deepSpeedConfig, *options.microBatch, rows);
}

void Compilation::run(Phase phase, bool withKernels) {
  PassManager manager(&context);
  pipelines.build(phase, withKernels, manager);
  runPasses(manager, phase);
}

/// The phase in two parts: which values there are is known once the plan is chosen.
void Compilation::rematerializePriced(const ValueChooser &choose) {
  PassManager choice(&context), prices(&context);
  pipelines.addGiven(Phase::Rematerialize, /*before=*/true, choice);
  pipelines.addOffload(choice);
  kedge::pipelines::addChoosePipeline(choice, pipelines.recompute());
  runPasses(choice, Phase::Rematerialize);
  kedge::pipelines::addPricedPipeline(prices, pipelines.recompute(), choose(*ir, model));
  pipelines.addGiven(Phase::Rematerialize, /*before=*/false, prices);
  runPasses(prices, Phase::Rematerialize);
  sched::PricesNote note(&context);
  noted = note.getAttr(*ir);
  note.removeAttr(*ir);
  tracesLaunches = true;
}

void Compilation::runPasses(PassManager &manager, Phase phase) {
  runPasses(manager,
            fmt::format("{}: not compiled: the phase '{}' failed", options.model.model, nameOf(phase)));
  checkRoundTrip(*ir, nameOf(phase));
}

void Compilation::runPasses(PassManager &manager, const std::string &otherwise) {
  endIfCancelled();
  const FatalErrors fatal(*diagnostics, otherwise);
  // Once a phase: after each pass it takes a fifth to a third of the time. Passes of others are told of by
  // name. What a trial plans is compiled again, where it is chosen.
  const bool hasOthers = !options.passesBefore.empty() || !options.passesAfter.empty();
  manager.enableVerifier(hasOthers && !options.isTrial());
  if (failed(manager.run(*ir)) || (!hasOthers && !options.isTrial() && failed(verify(*ir))))
    diagnostics->raise(otherwise);
}

std::string Compilation::pipelineText() { return pipelines.text(context, done); }

bool Compilation::isWanted(Phase phase) const { return phase > done && pipelines.has(phase); }

void Compilation::raise(const std::string &otherwise) { diagnostics->raise(otherwise); }

} // namespace kedge::driver
