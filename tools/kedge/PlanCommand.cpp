// kedge plan MODEL: memory of a step, before running it.
#include "driver/BudgetCheck.h"
#include "driver/Compilation.h"
#include "driver/Remedies.h"
#include "driver/joint/Joint.h"
#include "driver/options/ProgramOptions.h"
#include "driver/plan/BucketPlan.h"
#include "driver/plan/Compare.h"
#include "driver/plan/MaxBatch.h"
#include "driver/plan/PipelinePlan.h"
#include "driver/plan/PlanCheck.h"
#include "driver/plan/Report.h"
#include "driver/program/KernelLevels.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "runtime/io/Printable.h"
#include "tools/flags/MeshFlags.h"
#include "tools/kedge/Commands.h"
#include "tools/kedge/DeepSpeedFlags.h"
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fmt/ranges.h>
#include <future>

namespace kedge::tool {

using namespace driver;

namespace {
/// A list of precisions asks for a comparison; a plan is of one.
void checkPrecisions(const CompileOptions &options) {
  const std::vector<std::string> given = wordsOf(options.precisions);
  if (given.size() > 1 && !options.plan.compare && !options.joint.on)
    fail("--precision {}: a plan is of one precision, found {}; name one, add --compare for a row each, or "
         "--auto",
         fmt::join(given, ","), given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (std::find(given.begin(), given.begin() + i, given[i]) != given.begin() + i)
      fail("--precision {}: {} is named twice; name each precision once", fmt::join(given, ","), given[i]);
}

/// Puts the rows into the report; the same as tables.
std::string compare(const CompileOptions &options, nlohmann::json &report) {
  std::string tables;
  report["compare"] = nlohmann::json::array();
  const auto add = [&](const char *what, const nlohmann::json &rows) {
    tables += "\n" + compareText(what, rows, options.memory.plan.budget.isGiven());
    report["compare"].insert(report["compare"].end(), rows.begin(), rows.end());
  };
  expectRows(options);
  if (options.isPipelined()) {
    add("pipeline", compareSchedules(options));
    return tables + compareNote(options);
  }
  add("recompute", comparePolicies(options));
  if (options.precisions.size() > 1)
    add("precision", comparePrecisions(options));
  if (options.model.adapters.inserts())
    add("trains", compareTuning(options));
  if (severalRanks(options)) {
    add("ranks", compareStages(options));
    add("step by step", compareSteps(options));
  }
  return tables + compareNote(options);
}

/// What users try one after another, with the given options, and what --auto has chosen.
std::string compareWithAuto(const CompileOptions &given, const CompileOptions &chosen,
                            nlohmann::json &report) {
  expectRows(given);
  const nlohmann::json rows = driver::compareWithAuto(given, chosen, report);
  report["compare"] = rows;
  return "\n" + compareText(severalRanks(given) ? "step by step" : "recompute", rows,
                            given.memory.plan.budget.isGiven());
}

/// The frontier is what the solver chooses from: no other way to compute again has one.
void checkFrontier(const CompileOptions &options) {
  const MemoryOptions &memory = options.memory;
  if (memory.frontier && memory.policy().kind != remat::Policy::Kind::Auto)
    fail("--frontier shows what --recompute auto chooses from; found --recompute {}", memory.policy().text());
}

/// What --auto has found, for the report, and the options that it was given; null: none.
struct Joint {
  const nlohmann::json *report = nullptr;
  const CompileOptions *given = nullptr;
};

/// Prints the plan. Exit code: 2 where it does not fit, or is worse than the stored one.
int show(nlohmann::json &report, Compilation &compilation, const CompileOptions &options,
         const std::optional<nlohmann::json> &stored, const Joint &joint) {
  const std::string rows = options.plan.compare ? compare(options, report)
                           : joint.given && joint.given->plan.compare
                               ? compareWithAuto(*joint.given, options, report)
                               : "";
  const std::string text = options.plan.json
                               ? report.dump(2) + "\n"
                               : rt::printable(exporter::planText(report, compilation.module())) + rows;
  reporter().answer(text);
  const driver::BudgetCheck budget(compilation.module(), options);
  if (!budget.fits())
    return budget.sayWhyNothingFits(remediesText(options)), 2;
  const std::string worse = stored ? worseThan(*stored, report) : "";
  if (worse.empty())
    return 0;
  const std::string reason =
      fmt::format("{}: worse than the plan in '{}':\n{}", options.model.model, options.plan.checkFile, worse);
  reporter().sayTogether("kedge: " + reason, {{Severity::Error, reason, "", ""}});
  return 2;
}

void plan(Compilation &compilation, const CompileOptions &options) {
  compilation.import();
  compilation.step();
  compilation.schedule(pricedForPage(options));
  if (!options.output.launchFile.empty())
    compilation.lower(); // launches of a GPU join by their kernels
  else
    compilation.plan();
}

void writeTables(Compilation &compilation, const CompileOptions &options) {
  if (!options.output.arenaFile.empty())
    writeText(options.output.arenaFile, exporter::arenaTable(compilation.module()));
  if (!options.output.launchFile.empty())
    writeText(options.output.launchFile, analysis::launchTable(compilation.launches()));
}

/// Of the rank that was named, or else of the one that the plan shows.
void writeTables(PipelinePlan &shown, const CompileOptions &options) {
  if (options.output.arenaFile.empty() && options.output.launchFile.empty())
    return;
  CompileOptions own = shown.options();
  const rt::Mesh mesh = options.model.meshOfRanks();
  if (options.plan.rank)
    own.pipeline.stage = *options.plan.rank / (mesh.size() / mesh.sizeOf(rt::Mesh::kPipeline));
  own.setRepeats(true); // notes are the same
  Compilation compilation(own);
  plan(compilation, own);
  writeTables(compilation, own);
}

/// A pipeline's ranks have a plan each.
int runPipelinePlan(const CompileOptions &options, const LargestSize &found,
                    const std::optional<nlohmann::json> &stored, const Joint &joint) {
  PipelinePlan plan(options);
  nlohmann::json report = plan.report();
  found.addTo(report);
  if (joint.report)
    report["auto"] = *joint.report;
  writeTables(plan, options);
  writeReport(report, plan.compilation(), plan.options());
  return show(report, plan.compilation(), plan.options(), stored, joint);
}

/// A plan of each length, and the arena of all.
int runBucketPlan(const CompileOptions &options) {
  checkPrecisions(options);
  std::vector<BucketOptions> buckets = bucketsOf(options);
  BucketPlan plans(options);
  std::unique_ptr<Compilation> longest;
  for (BucketOptions &bucket : buckets) {
    plans.takeFromLongest(bucket.options);
    auto compilation = std::make_unique<Compilation>(bucket.options);
    plan(*compilation, bucket.options);
    if (!plans.add(bucket, *compilation))
      return 2;
    if (!longest)
      longest = std::move(compilation);
  }
  const nlohmann::json report = plans.report();
  reporter().answer(options.plan.json
                        ? report.dump(2) + "\n"
                        : rt::printable(exporter::planText(report, longest->module())) + bucketText(report));
  return 0;
}

int runPlan(const LargestSize &found, const Joint &joint = {}) {
  const CompileOptions options = withChosenSchedule(found.options);
  checkPrecisions(options);
  KernelLevels processors(options.machine.cpus); // throws for what is none
  checkFrontier(options);
  const std::optional<nlohmann::json> stored =
      options.plan.checkFile.empty() ? std::nullopt : std::optional(readPlan(options.plan.checkFile));
  checkReportFile(options.output.report);
  checkFolder("--arena", options.output.arenaFile);
  checkFolder("--launches", options.output.launchFile);
  if (options.isPipelined())
    return runPipelinePlan(options, found, stored, joint);
  Compilation compilation(options);
  plan(compilation, options);
  nlohmann::json report = compilation.report();
  found.addTo(report);
  if (joint.report)
    report["auto"] = *joint.report;
  writeTables(compilation, options);
  writeReport(report, compilation, options);
  return show(report, compilation, options, stored, joint);
}

/// With the size that --max-batch or --max-seq looks for.
LargestSize withLargestSize(const CompileOptions &options) {
  if (!options.plan.maxBatchInput.empty())
    return largestBatch(options);
  return options.plan.maxSeqInput.empty() ? LargestSize{options} : longestSequence(options);
}

/// The plan, then why no larger size fits; both are looked for at once.
int runPlanWithReasons(const LargestSize &found) {
  std::future<std::string> reasons = std::async(std::launch::async, [&found, &asking = reporter()] {
    SilentReporter silent(&asking);
    const ReporterScope scope(silent);
    return whyNoLarger(found);
  });
  const int exitCode = runPlan(found);
  if (exitCode == 0)
    reporter().sayTogether(reasons.get(), {});
  return exitCode;
}

/// The plan of what --auto chooses, after the choices.
int runJointly(const CompileOptions &given) {
  checkPrecisions(given);
  const LargestSize found = withLargestSize(given);
  const CompileOptions &options = found.options;
  const JointAnswer answer = planJointly(options);
  const std::string text = jointText(answer.report, options.joint.explains) + "\n";
  if (!options.plan.json)
    reporter().answer(text);
  return runPlan({answer.options, found.size}, {&answer.report, &options});
}

/// A share of the unconstrained peak grows with the batch: no batch fills it.
void checkBudgetToFill(const char *flag, const MemoryBudget &budget) {
  if (!budget.isGiven())
    fail("{}: expected a --memory-budget to fill, found none", flag);
  if (budget.percent > 0)
    fail("{}: expected a --memory-budget in bytes (such as 16GiB) or 'device', found '{}'", flag,
         budget.text());
}
/// Of "20%".
double shareOf(const std::string &text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() ||
      std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)) != "%" || !(percent >= 0) ||
      percent > 1e6)
    fail("--max-added-time {}: expected a share of the step's time, as in 20%", text);
  return percent / 100;
}
} // namespace

void addPlanCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("plan", "memory of a training step, before running it");
  auto options = std::make_shared<CompileOptions>();
  addCompileOptions(*command, *options);
  command->add_flag("--json", options->plan.json, "the report for machines")->group("Output");
  command
      ->add_option("--arena", options->output.arenaFile, "FILE.csv: every buffer's lifetime, size and offset")
      ->group("Output");
  command
      ->add_option("--launches", options->output.launchFile,
                   "FILE.csv: work and predicted seconds of every launch")
      ->group("Output");
  addRankOption(*command, *options);
  command
      ->add_flag("--compare", options->plan.compare,
                 "add tables: peak, added time and fit of each --recompute policy, of each precision, of "
                 "each ZeRO stage; with --auto, of what users try one after another")
      ->group("Output");
  command
      ->add_flag("--frontier", options->memory.frontier,
                 "add a table: added time for a range of budgets, with a proven bound")
      ->group("Output");
  command
      ->add_option("--check", options->plan.checkFile,
                   "FILE.json: exit 2 when the peak or the added time is worse than this stored plan's")
      ->group("Output");
  command
      ->add_option("--max-batch", options->plan.maxBatchInput,
                   "INPUT: plan with its largest first size that fits --memory-budget")
      ->group("Output");
  command
      ->add_option("--max-seq", options->plan.maxSeqInput,
                   "INPUT: plan with its largest second size that fits --memory-budget; sizes that the model "
                   "names alike follow")
      ->group("Output");
  command
      ->add_option_function<std::string>(
          "--max-added-time",
          [options](const std::string &text) { options->plan.maxAddedTime = shareOf(text); },
          "PERCENT: with --max-batch or --max-seq, the most that computing again may add to a step, as in "
          "20%")
      ->group("Output");
  command->callback([=, &exitCode] {
    *options = withDeepSpeedConfig(*command, *options);
    const bool grows = !options->plan.maxBatchInput.empty() || !options->plan.maxSeqInput.empty();
    if (options->plan.maxAddedTime && !grows)
      fail("--max-added-time bounds what --max-batch looks for; give --max-batch INPUT with it");
    if (!options->plan.maxBatchInput.empty() && !options->plan.maxSeqInput.empty())
      fail("--max-batch, --max-seq: not available together; give one of them");
    if (!options->model.buckets.empty())
      return void(exitCode = runBucketPlan(*options));
    if (options->joint.on)
      return void(exitCode = runJointly(*options));
    if (grows)
      checkBudgetToFill(options->plan.maxBatchInput.empty() ? "--max-seq" : "--max-batch",
                        options->memory.plan.budget);
    const LargestSize found = withLargestSize(*options);
    exitCode = grows && found.size > 0 ? runPlanWithReasons(found) : runPlan(found);
  });
}

} // namespace kedge::tool
