#include "runtime/train/Session.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/Interruption.h"
#include "runtime/io/LastCheckpoint.h"
#include "runtime/io/MapGuard.h"
#include "runtime/io/Printable.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/platform/Process.h"
#include "runtime/program/Buckets.h"
#include "runtime/train/BeginRun.h"
#include "runtime/train/CompletedStep.h"
#include "runtime/train/CrossRankChecks.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/Signals.h"
#include "runtime/train/output/Export.h"
#include "runtime/train/output/OutputFiles.h"
#include "runtime/train/report/Effects.h"
#include "runtime/train/weights/Adapters.h"
#include "runtime/train/weights/Averages.h"
#include "runtime/train/weights/Weights.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace kedge::rt {
namespace {

/// What several outputs could not write. Where ranks write together, an error that one of them alone knows
/// ends all.
class Attempts {
public:
  explicit Attempts(bool alone) : alone(alone) {}

  template <typename Body> void run(Body &&body) {
    try {
      body();
    } catch (const RuntimeError &error) {
      if (!alone && !dynamic_cast<const AgreedError *>(&error))
        throw; // the other ranks do not know of it
      errors += (errors.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  void finish() const {
    if (errors.empty())
      return;
    if (alone)
      fail("{}", errors);
    throw AgreedError(errors);
  }

private:
  const bool alone;
  std::string errors;
};

/// Beside the file itself, wherever links lead from.
std::string lockOf(const std::string &path) { return platform::realPath(path).value_or(path) + ".lock"; }

/// Reports are a file a rank: "memory.json", "memory.rank-1.json".
std::string ofRank(const std::string &path, const World &world) {
  if (world.isFirst() || path.empty())
    return path;
  const std::filesystem::path file(path);
  return (file.parent_path() /
          fmt::format("{}.rank-{}{}", file.stem().string(), world.rank, file.extension().string()))
      .string();
}

} // namespace

Session::Session(const ProgramImage &image, const Program &program, const Options &options,
                 const Launched &launched, Communicator *ranks)
    : image(image), program(program), options(options), launched(launched), world(launched.world),
      rows(ranks ? ranks->rowPlace() : launched.world), ranks(ranks) {}

void Session::checkOptions() {
  checkOutputFiles(options, program);
  checkAdapterOptions(program, options);
  checkOutputsWritable(options, program, world.isFirst());
  if (!options.exportOnnx.empty())
    exportTemplate(program, options.exportMode());
  else if (options.exportTrainingMode)
    fail("--export-training-mode needs --export-onnx");
  for (const NamedFile &wanted : options.predict) {
    checkPredictable(program, wanted.name);
    if (options.evalData.empty() && options.evalTokens.empty())
      fail("--predict needs --eval-data or --eval-tokens");
  }
  if (!options.sample.prompt.empty() && ranks)
    fail("--sample: not available yet on several ranks; export the model, or resume the checkpoint on one "
         "rank with --steps 0");
  if (!options.sample.prompt.empty())
    sampler = std::make_unique<Sampler>(program, options.sample);
  if (options.continueOnNan)
    checkSkipsUpdates(program);
  if (options.findRate != 0 && ranks)
    fail("--find-lr: not available yet on several ranks; find the rate on one");
  if (options.findRate != 0 && program.options.trainingInfo)
    fail("--find-lr would have no effect: the model's training_info says how it trains");
  if (options.evalAverage)
    checkAverages(program, "--eval-ema");
  if (options.exportAverage)
    checkAverages(program, "--export-ema");
  if (!options.log.empty())
    checkLogFile(options.log);
  if (!options.log.empty() && world.isFirst())
    logLock = std::make_unique<FileLock>(lockOf(options.log), fmt::format("--log '{}'", options.log));
  if (options.checkpointDir.empty())
    return;
  platform::makeFolders(options.checkpointDir);
  if (!platform::isWritableFolder(options.checkpointDir))
    fail("--checkpoint-dir {}: cannot write into it: {}", options.checkpointDir, std::strerror(errno));
  if (world.isFirst())
    folderLock = std::make_unique<FileLock>(options.checkpointDir + "/.lock",
                                            fmt::format("--checkpoint-dir '{}'", options.checkpointDir));
  if (!options.resume && holdsCheckpoints(options.checkpointDir))
    fail(
        "--checkpoint-dir '{}' holds checkpoints already: give --resume to go on from the newest, or another "
        "folder",
        options.checkpointDir);
}

void Session::resume() {
  if (options.resume) {
    checkpoint =
        newestCheckpoint(options.resumeDir.empty() ? options.checkpointDir : options.resumeDir, ranks);
    progress = checkpoint->progress;
  }
  const ScalarOptions saved = checkpoint ? checkpoint->scalars : ScalarOptions{};
  const bool hasData = !options.data.empty() || !options.tokens.empty();
  if (!options.scalars.steps && !saved.steps && hasData && options.epochs == 0 && options.findRate == 0)
    fail("--steps N is missing: how many optimizer steps to train in all (or --epochs N: how often all rows "
         "are used)");
  ScalarOptions given = options.scalars;
  if (options.epochs != 0)
    given.steps = stepsOfEpochs();
  if (options.findRate != 0)
    given.steps = progress.step + options.findRate;
  scalars = resolveScalars(given, saved, program.options);
  checkEffects(options, scalars, program.options, progress.step);
  if (checkpoint && progress.step < scalars.steps)
    warnOf(aboutStretched(scalars, resolveScalars({}, saved, program.options), progress.step));
}

void Session::warnOf(const std::string &text) const {
  if (!text.empty() && world.isFirst())
    say(fmt::format("kedge: warning: {}", printable(text)));
}

/// As a DataLoader that keeps its last, smaller batch counts them, but that the rows go on without a gap.
int64_t Session::stepsOfEpochs() {
  data = std::make_unique<Dataset>(program, trainingFiles(options), true);
  const int64_t rows = data->rows(),
                each = rowsInStep(this->rows, program.options.batch, program.options.accumulate);
  if (rows > (int64_t(1) << 40) / options.epochs)
    fail("--epochs {}: of {} rows are more steps than a run has; give --steps", options.epochs, rows);
  const int64_t steps = (options.epochs * rows + each - 1) / each;
  if (world.isFirst())
    say(fmt::format("kedge: note: {} epochs of {} rows are {} steps of {} rows", options.epochs, rows, steps,
                    each));
  return steps;
}

void Session::openData() {
  if (progress.step < scalars.steps) {
    if (!data)
      data = std::make_unique<Dataset>(program, trainingFiles(options), true);
    data->shuffle(scalars.shuffle);
    readLengths();
    if (const std::string text = data->aboutInputs(); !text.empty() && world.isFirst())
      say("kedge: note: " + printable(text));
    warnOf(data->aboutLabels());
    warnOf(data->aboutPixels());
    warnOf(aboutSchedule(scalars));
  }
  if (!options.evalData.empty() || !options.evalTokens.empty())
    evalData = std::make_unique<Dataset>(program, evaluationFiles(options), options.predict.empty());
  checkSameData(ranks, data ? data->rows() : 0, evalData ? evalData->rows() : 0);
}

/// A run keeps its order when it goes on with other ranks or batches.
void Session::readLengths() {
  if (!hasBuckets(program)) {
    if (progress.sortedRows != 0 && scalars.shuffle)
      warnOf("so far rows were sorted by their length, and this program takes rows of one length: some rows "
             "of this "
             "epoch come twice, others not at all");
    progress.sortedRows = 0;
    return;
  }
  if (progress.sortedRows == 0 && scalars.shuffle)
    progress.sortedRows = rowsInStep(rows, program.options.batch, 1);
  data->readLengths(std::max<int64_t>(1, progress.sortedRows));
}

/// Ranks on one machine share its cores, unless the launcher bound them to their own.
int Session::threadCount() const {
  if (options.threads != 0)
    return options.threads;
  if (launched.localSize == 1)
    return physicalCores();
  const int share = static_cast<int>(machineCores() / launched.localSize);
  return std::max(1, std::min(physicalCores(), share));
}

void Session::makeExecutor() {
  const int threads = threadCount();
  meter.startThreads(threads);
  executor = std::make_unique<Executor>(program, image, threads, ranks);
  meter.noteKernels(*executor);
  if (const char *poison = std::getenv("KEDGE_POISON"); poison && std::strcmp(poison, "1") == 0)
    executor->poisonDeadRanges();
  if (const char *where = std::getenv("KEDGE_STOP"); where && *where)
    executor->stopWhere(where);
}

void Session::setStates() {
  const WeightSources sources{options.model,   options.weights, options.weightsPartial,
                              options.adapter, options.init,    scalars.seed};
  LoadedValues first(program);
  hasCheckpoint = false; // of another run of this process
  loadInitialValues(
      *executor, image, sources, checkpoint.has_value(),
      [&first](const State &state, const State &as, const char *values) { first.see(state, as, values); });
  first.check(executor->communicator());
  originals = std::make_unique<Originals>(*executor, image, sources);
  executor->setOriginals(originals.get());
  checkpoints.world = world;
  checkpoints.id = checkpoint ? checkpoint->run : newRunId();
  if (checkpoint || !options.checkpointDir.empty())
    checkpoints.frozen = frozenTensors(*executor);
  if (checkpoint) {
    loadCheckpoint(*checkpoint, checkpoints.frozen, *executor);
    hasCheckpoint = true;
  }
  scaler = beginRun(*executor, scalars, progress, rows, checkpoint ? &*checkpoint : nullptr);
}

void Session::makeEvaluator() {
  evalData->readLengths(/*batch=*/1);
  evaluator = std::make_unique<Evaluator>(*executor, *evalData, scalars);
  std::vector<MetricKind> kinds;
  for (const std::string &name : options.metrics)
    if (const MetricKind kind = metricNamed("--metric", name);
        std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  if (const auto kind = bestMetric(options).kind;
      kind && std::find(kinds.begin(), kinds.end(), *kind) == kinds.end())
    kinds.push_back(*kind);
  if (!kinds.empty())
    evaluator->measure(kinds);
}

/// Reads what the first step needs.
void Session::prepare(const ReadFiles *read) {
  const Interruptible reading(caughtSignal);
  resume();
  openData();
  makeExecutor();
  setStates();
  failIfLost();
  if (read)
    checkSameFiles(ranks, *read);
}

int Session::endBeforeFirstStep(int caught) {
  const std::string what = fmt::format("stopped by {} before the first step: nothing was trained",
                                       caught == platform::kInterrupt ? "SIGINT" : "a signal");
  if (ranks) // others may wait for this one in a collective
    throw EndedBySignal(what, caught);
  say("kedge: note: " + what);
  return 128 + caught;
}

int Session::run() {
  guardMaps();
  const std::unique_ptr<ReadFiles> read = ranks ? std::make_unique<ReadFiles>() : nullptr;
  checkOptions();
  try {
    prepare(read.get());
  } catch (const Interrupted &ended) {
    return endBeforeFirstStep(ended.signal);
  }
  if (evalData && evalData->hasLabels())
    makeEvaluator();
  if (!options.profile.empty()) {
    profile = std::make_unique<Profile>(program, scalars.steps - progress.step, world.isFirst());
    executor->setTimer(profile.get());
  }
  if (world.isFirst())
    openLogs();
  if (!options.checkpointDir.empty() && world.isFirst()) {
    removeLeftovers(options.checkpointDir);
    if (checkpoint && progress.step < scalars.steps)
      setAsideLater(options.checkpointDir, progress.step);
  }
  if (options.findRate != 0)
    findRate();
  else if (train() == 0)
    finish();
  else if (exportsWhenStopped())
    exportStopped();
  if (signal == platform::kBrokenPipe)
    throw AgreedError(fmt::format("cannot write to standard error: the run ended after {} of {} steps",
                                  progress.step, scalars.steps));
  return signal == 0 ? 0 : 128 + signal;
}

void Session::openLogs() {
  std::optional<int64_t> resumeAt;
  if (checkpoint)
    resumeAt = progress.unevaluated ? progress.step - 1 : progress.step;
  if (!options.log.empty())
    log = std::make_unique<Log>(options.log, resumeAt);
  if (options.tensorboard.empty())
    return;
  tensorboard = std::make_unique<TensorBoard>(options.tensorboard, resumeAt);
  tensorboard->describe(program, scalars);
}

void Session::writeLogs(const LogLine &line) {
  if (log)
    log->write(line);
  if (tensorboard)
    tensorboard->write(line);
}

void Session::printExportNotes() const {
  std::vector<nlohmann::json> notes = program.exportTemplate.value("notes", nlohmann::json::array());
  if (options.exportTrainingMode)
    for (const auto &note : program.exportTemplate.value("training_notes", nlohmann::json::array()))
      notes.push_back(note);
  for (const auto &note : notes)
    say(fmt::format("{}: {}", options.exportOnnx, note.get<std::string>()));
  if (const int64_t merged = countAdapted(program))
    say(fmt::format(
        "{}: the adapters of {} weights are merged into them (--export-onnx-adapters keeps them apart)",
        options.exportOnnx, merged));
}

std::vector<std::string> Session::exportFiles() const {
  std::vector<std::string> files;
  for (const std::string *file :
       {&options.exportOnnx, &options.exportOnnxAdapters, &options.exportAdapter, &options.exportSafetensors})
    if (!file->empty())
      files.push_back(fmt::format("'{}'", *file));
  return files;
}

/// Who presses Ctrl-C wants the run's results, and so does who only lost sight of it; SIGTERM and SIGHUP may
/// leave no time for them.
bool Session::exportsWhenStopped() const {
  return (signal == platform::kInterrupt || signal == platform::kBrokenPipe) && stepsRun > 0 &&
         !exportFiles().empty();
}

void Session::exportStopped() {
  checkStatesFinite(*executor, progress.step - 1, "nothing is exported" + epsilonHelp(scalars, program));
  exportAll();
  if (world.isFirst())
    say(fmt::format("kedge: note: exported after step {} of {}: {}", progress.step, scalars.steps,
                    fmt::join(exportFiles(), ", ")));
}

void Session::exportAll() {
  if (exportFiles().empty())
    return;
  onAverages(*executor, scalars, options.exportAverage, [&] {
    writeExports();
    return true;
  });
}

void Session::writeExports() {
  Attempts exports(/*alone=*/!ranks);
  if (!options.exportOnnx.empty())
    exports.run([&] {
      exportOnnx(options.exportOnnx, *executor, image, options.model, options.exportMode());
      if (world.isFirst())
        printExportNotes();
    });
  if (!options.exportOnnxAdapters.empty())
    exports.run([&] { exportOnnx(options.exportOnnxAdapters, *executor, image, options.model, "adapters"); });
  if (!options.exportAdapter.empty())
    exports.run([&] { exportAdapter(options.exportAdapter, *executor); });
  if (!options.exportSafetensors.empty())
    exports.run([&] { exportSafetensors(options.exportSafetensors, *executor, options.exportType); });
  exports.finish();
}

void Session::writeReports() {
  if (!options.memoryReport.empty()) {
    AtomicFile file(ofRank(options.memoryReport, world));
    file.write(meter.report(*executor, stepsRun));
    file.commit();
  }
  if (profile)
    profile->finish(options.profile, ranks);
}

void Session::printSample() {
  const auto text = onAverages(*executor, scalars, options.evalAverage,
                               [&] { return sampler->run(*executor, scalars, progress); });
  if (text)
    std::puts(text->c_str());
  else
    signal = caughtSignal();
}

void Session::finish() {
  if (stepsRun > 0 && !exportFiles().empty())
    checkStatesFinite(*executor, progress.step - 1, "nothing is exported" + epsilonHelp(scalars, program));
  Attempts outputs(/*alone=*/!ranks); // one that fails takes no other with it
  for (const NamedFile &wanted : options.predict) {
    outputs.run([&] {
      signal = onAverages(*executor, scalars, options.evalAverage, [&] {
        return predict(*executor, *evalData, scalars, progress, wanted.name, wanted.file);
      });
    });
    if (signal != 0)
      return outputs.finish();
  }
  outputs.run([&] { exportAll(); });
  outputs.run([&] { writeReports(); });
  if (sampler)
    outputs.run([&] { printSample(); });
  outputs.finish();
}

} // namespace kedge::rt
