#include "runtime/library/LearningSession.h"
#include "runtime/comm/Launcher.h"
#include "runtime/format/Convert.h"
#include "runtime/io/FileLock.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Folders.h"
#include "runtime/program/NumberFlags.h"
#include "runtime/train/BeginRun.h"
#include "runtime/train/Evaluate.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/LinkedImage.h"
#include "runtime/train/output/Export.h"
#include "runtime/train/output/OutputFiles.h"
#include "runtime/train/report/Effects.h"
#include "runtime/train/weights/Averages.h"
#include "runtime/train/weights/Weights.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/ranges.h>
#include <limits>

namespace kedge::rt {
namespace {

const World kAlone;

/// Flags of the compiled program that mean the same to a session. Data, files and reports are calls here.
std::vector<std::string_view> sessionFlags() {
  std::vector<std::string_view> flags{"--steps"};
  flags.insert(flags.end(), scalarFlags().begin(), scalarFlags().end());
  flags.insert(flags.end(), {"--seed", "--shuffle", "--model", "--weights", "--weights-partial", "--adapter",
                             "--init", "--threads", "--on-nan"});
  return flags;
}

/// What throws because of the caller's arguments.
template <typename Body> auto asWrongCall(Body &&body) {
  try {
    return body();
  } catch (const RuntimeError &error) {
    throw WrongCall(error.what());
  }
}

void checkFlag(const std::string &name) {
  const std::vector<std::string_view> flags = sessionFlags();
  if (std::find(flags.begin(), flags.end(), name) == flags.end())
    fail("'{}' is no option of a session; it takes {}. Data, checkpoints and exports have functions of their "
         "own",
         name, fmt::join(flags, " "));
}

/// Without an end there is nothing that a schedule could decline to.
void checkSchedule(const RunScalars &scalars) {
  if (scalars.schedule != ScheduleKind::Constant && scalars.steps == 0 && !scalars.decayStepsGiven)
    fail("--schedule {} needs --steps or --decay-steps: where the rate has come down",
         scheduleName(scalars.schedule));
}

} // namespace

LearningSession::LearningSession(const OptionTexts &texts, const TaskRunner &lent)
    : image(linkedImage(nullptr)), program(parseProgram(image.json)), lent(lent) {
  const LentThreads scope(threads());
  parse(texts);
  checkWorldSize(kAlone, program.options.ranks);
  placeShards(program, kAlone);
  asWrongCall([&] {
    scalars = resolveScalars(options.scalars, {}, program.options);
    checkEffects(options, scalars, program.options, 0);
    checkSchedule(scalars);
    if (options.continueOnNan)
      checkSkipsUpdates(program);
  });
  executor =
      std::make_unique<Executor>(program, image, options.threads != 0 ? options.threads : physicalCores());
  LoadedValues first(program);
  loadInitialValues(
      *executor, image,
      {options.model, options.weights, options.weightsPartial, options.adapter, options.init, scalars.seed},
      /*onlyUnsaved=*/false,
      [&first](const State &state, const State &as, const char *values) { first.see(state, as, values); });
  first.check(nullptr);
  originals =
      std::make_unique<Originals>(*executor, image,
                                  WeightSources{options.model, options.weights, options.weightsPartial,
                                                options.adapter, options.init, scalars.seed});
  executor->setOriginals(originals.get());
  checkpoints.world = kAlone;
  checkpoints.id = newRunId();
  scaler = beginRun(*executor, scalars, progress, kAlone, nullptr);
  describe();
}

void LearningSession::parse(const OptionTexts &texts) {
  asWrongCall([&] {
    std::vector<std::string> words = {program.name};
    for (const auto &[name, value] : texts) {
      checkFlag(name);
      words.push_back(value ? name + "=" + *value : name);
    }
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    parseOptions(static_cast<int>(words.size()), argv.data(), program.name, options, /*speaks=*/false);
  });
}

/// As if the session had been opened with it.
void LearningSession::setOption(const std::string &name, const std::string &value) {
  asWrongCall([&] {
    if (name != "--steps" &&
        std::find(scalarFlags().begin(), scalarFlags().end(), name) == scalarFlags().end())
      fail("'{}' cannot change in an open session; --steps {} can", name, fmt::join(scalarFlags(), " "));
    std::vector<std::string> words = {program.name, name + "=" + value};
    std::vector<char *> argv = {words[0].data(), words[1].data(), nullptr};
    Options changed;
    changed.scalars = options.scalars;
    parseOptions(2, argv.data(), program.name, changed, /*speaks=*/false);
    const RunScalars going = resolveScalars(changed.scalars, saved, program.options);
    checkEffects(changed, going, program.options, progress.step);
    checkSchedule(going);
    options.scalars = changed.scalars;
    scalars = going;
  });
}

void LearningSession::requireWhole() const {
  if (broken)
    throw BrokenSession("an earlier call failed half-way, and the states are no longer those of a step: call "
                        "kedge_resume with "
                        "a folder of checkpoints, or close the session");
}

void LearningSession::setInput(const std::string &name, const void *data, int64_t rows, bool keep) {
  const InputSpec *input = program.input(name);
  if (!input)
    throw WrongCall(fmt::format("the model has no input '{}'; kedge_input_at lists them", name));
  if (!data && rows == 0) {
    inputs.erase(name);
    return;
  }
  if (!data || rows < 1 || (!input->batched && rows != 1))
    throw WrongCall(fmt::format(
        "the input '{}' was given as {} rows at {}; expected {} at the address of the first", name, rows,
        data ? "an address" : "NULL", input->batched ? "one row or more" : "one (it has no rows)"));
  const int64_t rowBytes = static_cast<int64_t>(input->desc.bytes()) /
                           std::max<int64_t>(1, input->batched ? input->desc.shape[0] : 1);
  if (rows > std::numeric_limits<int64_t>::max() / 16 / std::max<int64_t>(1, rowBytes))
    throw WrongCall(fmt::format("the input '{}' was given as {} rows of {} bytes, more than any memory holds",
                                name, rows, rowBytes));
  if (!keep) {
    inputs[name] = {data, rows, nullptr};
    return;
  }
  const char *first = static_cast<const char *>(data);
  const size_t bytes = input->batched ? static_cast<size_t>(rows * rowBytes) : input->desc.bytes();
  auto kept = std::make_shared<const std::vector<char>>(first, first + bytes);
  inputs[name] = {kept->data(), rows, kept};
}

LearningSession::InputsOfCall::~InputsOfCall() {
  std::erase_if(session.inputs, [](const auto &entry) { return !entry.second.kept; });
}

Dataset LearningSession::takeInputs(bool labelsNeeded) {
  const std::pair<const std::string, Lent> *first = nullptr;
  Dataset::Given given;
  for (const auto &entry : inputs) {
    const auto &[name, lentRows] = entry;
    const InputSpec &input = *program.input(name);
    given.emplace_back(name, rowsInMemory(lentRows.data, lentRows.rows, input));
    if (!input.batched)
      continue;
    first = first ? first : &entry;
    if (lentRows.rows != first->second.rows)
      throw WrongCall(fmt::format(
          "the input '{}' was given {} rows and '{}' {}; each row of one needs its row of the other",
          first->first, first->second.rows, name, lentRows.rows));
  }
  return asWrongCall([&] {
    return Dataset(program, std::move(given), "it by kedge_set_input(session, \"{}\", ...)", labelsNeeded);
  });
}

/// A label or a token that is out of range is told before it can do harm.
void LearningSession::checkIntegers(const Dataset &data, RowRange rows) const {
  asWrongCall([&] { data.checkIntegers(rows); });
}

double LearningSession::evaluate() {
  const InputsOfCall released{*this};
  requireWhole();
  const Dataset data = takeInputs(true);
  checkIntegers(data, {0, data.rows()});
  return onAverages(*executor, scalars, false,
                    [&] { return *Evaluator(*executor, data, scalars).loss(progress); });
}

void LearningSession::predict(const std::string &output, void *values, size_t bytes) {
  const InputsOfCall released{*this};
  requireWhole();
  if (!functionWith(program, output))
    throw WrongCall(fmt::format("the model has no output '{}'; kedge_output_at lists them", output));
  const Dataset data = takeInputs(false);
  checkIntegers(data, {0, data.rows()});
  const TensorDesc whole = predictedRows(program, output, data.rows());
  if (!checkedBytes(whole))
    throw WrongCall(
        fmt::format("the output '{}' of {} rows is more than any memory holds", output, data.rows()));
  if (!values || whole.bytes() != bytes)
    throw WrongCall(fmt::format("the output '{}' of {} rows takes {} bytes ({}{}), the place for it has {}",
                                output, data.rows(), whole.bytes(), dtypeName(whole.type),
                                shapeText(whole.shape), values ? bytes : 0));
  char *to = static_cast<char *>(values);
  onAverages(*executor, scalars, false, [&] {
    predictRows(*executor, data, scalars, progress, output, [&](const char *rows, size_t count) {
      std::memcpy(to, rows, count);
      to += count;
    });
    return true;
  });
}

void LearningSession::prepareFolder(const std::string &dir) {
  if (folder == dir && resumedAt < 0)
    return;
  if (folder == dir) {
    setAsideLater(dir, resumedAt);
  } else if (holdsCheckpoints(dir)) {
    throw WrongCall(fmt::format(
        "'{}' holds checkpoints already: call kedge_resume to go on from the newest, or name another "
        "folder",
        dir));
  } else if (!folder.empty()) { // in another place they are another series
    checkpoints.whole.clear();
    checkpoints.id = newRunId();
  }
  removeLeftovers(dir);
  folder = dir;
  resumedAt = savedStep = -1;
}

/// Until the session ends or goes to another folder: two in one would set each other's checkpoints aside.
void LearningSession::lockFolder(const std::string &dir) {
  if (folderLock && lockedFolder == dir)
    return;
  auto lock = std::make_unique<FileLock>(dir + "/.lock", fmt::format("the folder of checkpoints '{}'", dir));
  folderLock = std::move(lock);
  lockedFolder = dir;
}

void LearningSession::checkpoint(const std::string &dir) {
  requireWhole();
  if (!platform::makeFolders(dir))
    fail("cannot create the folder '{}': {}", dir, std::strerror(errno));
  lockFolder(dir);
  prepareFolder(dir);
  if (savedStep == progress.step)
    return;
  if (progress.step > 0)
    checkStatesFinite(*executor, progress.step - 1,
                      "no checkpoint of this state is written" + epsilonHelp(scalars, program));
  if (!knowsFrozen)
    checkpoints.frozen = frozenTensors(*executor);
  knowsFrozen = true;
  writeCheckpoint(dir, *executor, progress, scalars, checkpoints, options.keep);
  savedStep = progress.step;
}

void LearningSession::resume(const std::string &dir) {
  const Checkpoint from = newestCheckpoint(dir);
  const RunScalars going = resolveScalars(options.scalars, from.scalars, program.options);
  saved = from.scalars;
  if (!knowsFrozen)
    checkpoints.frozen = frozenTensors(*executor);
  knowsFrozen = true;
  broken = true;
  loadCheckpoint(from, checkpoints.frozen, *executor);
  scalars = going;
  progress = from.progress;
  checkpoints.id = from.run;
  checkpoints.whole.clear();
  scaler = beginRun(*executor, scalars, progress, kAlone, &from);
  folder = dir;
  resumedAt = progress.step;
  savedStep = -1;
  broken = false;
}

void LearningSession::exportOnnx(const std::string &path) {
  requireWhole();
  Options wanted = options;
  wanted.exportOnnx = path;
  asWrongCall([&] { checkOutputFiles(wanted, program); });
  if (progress.step > 0)
    checkStatesFinite(*executor, progress.step - 1, "nothing is exported" + epsilonHelp(scalars, program));
  onAverages(*executor, scalars, false, [&] {
    rt::exportOnnx(path, *executor, image, options.model, "inference");
    return true;
  });
  for (const auto &note : program.exportTemplate.value("notes", nlohmann::json::array()))
    say(fmt::format("{}: {}", path, note.get<std::string>()));
}

} // namespace kedge::rt
