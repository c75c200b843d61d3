// Writing checkpoints: rank 0 what is whole and the manifest, every rank its own parts.
#include "runtime/io/Error.h"
#include "runtime/io/LastCheckpoint.h"
#include "runtime/io/Unfinished.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/train/Manifest.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace kedge::rt {
namespace {

using nlohmann::ordered_json;

bool isParted(const Program &program) {
  return std::any_of(program.states.begin(), program.states.end(),
                     [](const State &state) { return state.shard && keptOf(state) == Kept::Values; });
}

/// Whether parts are cut along dimensions, and not only into flat ones over `data`.
bool hasBoxes(const Program &program) {
  return std::any_of(program.states.begin(), program.states.end(), [](const State &state) {
    return state.shard && !state.shard->cuts.empty() && keptOf(state) == Kept::Values;
  });
}

bool hasStages(const Program &program) {
  return std::any_of(program.states.begin(), program.states.end(), [](const State &state) {
    return state.shard && !state.shard->stages.empty() && keptOf(state) == Kept::Values;
  });
}

/// The two files of a checkpoint and their states.
template <typename Use> void forEachFile(const Program &program, Use &&use) {
  use(kModelFile, checkpointModelStates(program));
  use(kOptimizerFile, optimizerStates(program));
}

template <typename T> void put(ordered_json &json, const char *key, const std::optional<T> &value) {
  if (value)
    json[key] = *value;
}

ordered_json scalarsJson(const RunScalars &s) {
  ordered_json json;
  json["steps"] = s.steps;
  if (s.decayStepsGiven)
    json["decay_steps"] = s.decaySteps;
  json["lr"] = s.lr;
  json["min_lr"] = s.minLr;
  json["schedule"] = scheduleName(s.schedule);
  json["warmup"] = s.warmup;
  json["warmup_start"] = s.warmupStart;
  json["weight_decay"] = s.weightDecay;
  json["betas"] = {s.beta1, s.beta2};
  json["eps"] = s.eps;
  if (s.dpoBeta != 0)
    json["dpo_beta"] = s.dpoBeta;
  json["seed"] = s.seed;
  put(json, "shuffle", s.shuffle);
  return json;
}

ordered_json manifestJson(const Executor &executor, const RunProgress &progress, const RunScalars &scalars,
                          const CheckpointRun &run) {
  const CompiledOptions &options = executor.program().options;
  ordered_json json;
  json["format"] = hasStages(executor.program())  ? kStagedFormat
                   : hasBoxes(executor.program()) ? kBoxedFormat
                   : isParted(executor.program()) ? kPartedFormat
                                                  : kCheckpointFormat;
  json["program"] = executor.program().name;
  json["run"] = run.id;
  json["step"] = progress.step;
  json["optimizer_steps"] = progress.optimizerSteps;
  json["samples"] = progress.samples;
  if (progress.sortedRows != 0)
    json["sorted_rows"] = progress.sortedRows;
  if (const BestSoFar &best = progress.best; !best.metric.empty() && std::isfinite(best.value))
    json["best"] = {
        {"metric", best.metric}, {"value", best.value}, {"step", best.step}, {"since", best.since}};
  if (progress.unevaluated)
    json["unevaluated"] = lineJson(*progress.unevaluated);
  json["optimizer"] = options.optimizer;
  json["batch"] = options.batch;
  json["accumulate"] = options.accumulate;
  json["ranks"] = run.world.size;
  const LossScaler scaler(const_cast<Executor &>(executor));
  const LossScale scale = scaler.isActive() ? scaler.read() : LossScale();
  json["loss_scale"] = scale.scale;
  json["growth_counter"] = scale.growthCounter;
  if (scaler.isActive())
    json["hysteresis"] = scale.hysteresis;
  json["scalars"] = scalarsJson(scalars);
  json["frozen"] = ordered_json::array();
  for (const FrozenTensor &tensor : run.frozen)
    json["frozen"].push_back(
        {{"name", tensor.name}, {"dtype", dtypeName(tensor.type)}, {"checksum", tensor.checksum}});
  return json;
}

/// What the manifest says of a file, in a form that ranks exchange.
struct FileFacts {
  uint64_t bytes = 0;
  char checksum[24] = "";
};

FileFacts writeTensorFile(const std::string &path, const std::vector<TensorOut> &tensors) {
  FileWriter writer(path);
  writeSafetensors(writer, tensors);
  writer.finish();
  FileFacts facts{writer.bytesWritten()};
  writer.checksum().copy(facts.checksum, sizeof(facts.checksum) - 1);
  return facts;
}

void addFile(ordered_json &manifest, const std::string &name, const FileFacts &facts) {
  manifest["files"].push_back({{"name", name}, {"bytes", facts.bytes}, {"checksum", facts.checksum}});
}

/// A rank's part, without padding within; `packed` outlives the result.
const char *partOf(const Executor &executor, const State &state, std::vector<char> &packed) {
  const char *bytes = executor.read(state);
  const size_t size = dtypeSize(state.desc.type);
  if (const ElementRun run = state.view->onlyRun(); run.count >= 0)
    return bytes + static_cast<size_t>(run.here) * size;
  packed.resize(static_cast<size_t>(state.view->count()) * size);
  pack(*state.view, bytes, packed.data(), size);
  return packed.data();
}

/// This rank's parts of the tensors of one file. Of what several ranks hold alike, the first has it.
std::vector<TensorOut> localShards(const Executor &executor, const std::vector<NamedState> &states) {
  std::vector<TensorOut> tensors;
  const auto packed = std::make_shared<std::vector<char>>();
  for (const NamedState &entry : states)
    if (entry.state->shard && isFirstHolder(*executor.communicator(), entry.state->shard->axes()))
      tensors.push_back(
          {entry.name,
           {entry.state->desc.type, {entry.state->view->count()}},
           nullptr,
           entry.state->desc.type,
           {},
           [&executor, state = entry.state, packed] { return partOf(executor, *state, *packed); }});
  return tensors;
}

/// The axes along which any part is another.
std::string axesOfParts(const Program &program) {
  std::string axes;
  for (const State &state : program.states)
    if (state.shard && keptOf(state) == Kept::Values)
      axes += (axes.empty() ? "" : ",") + state.shard->axes();
  return axes;
}

/// Every rank writes; rank 0 notes the files of all.
void writeParts(const std::string &folder, const Executor &executor, ordered_json &manifest) {
  Communicator &ranks = *executor.communicator();
  const Mesh mesh = ranks.mesh();
  const std::string axes = axesOfParts(executor.program());
  const GroupMembers writers = mesh.groupOf(axes, 0);
  const int64_t writer = mesh.groupOf(axes, ranks.world().rank).own.rank;
  manifest["parts"] = {{"ranks", writers.own.size}, {"tensors", ordered_json::object()}};
  if (hasBoxes(executor.program()) || hasStages(executor.program()))
    manifest["parts"]["mesh"] = mesh.along(axes).text();
  ranks.barrier(); // the folder is there
  forEachFile(executor.program(), [&](const char *file, const std::vector<NamedState> &states) {
    ordered_json layouts = ordered_json::object();
    for (const NamedState &entry : states)
      if (entry.state->shard) {
        layouts[entry.name] = {{"shape", entry.state->shard->shape},
                               {"perm", layoutOf(executor.program(), *entry.state)}};
        layouts[entry.name].update(cutsJson(*entry.state->shard));
      }
    if (layouts.empty())
      return;
    manifest["parts"]["tensors"][file] = layouts;
    FileFacts mine;
    if (isFirstHolder(ranks, axes)) // the others hold the same
      mine = writeTensorFile(folder + "/" + partFile(file, writer), localShards(executor, states));
    withAllRanks(ranks, &mine, 1, [&](const FileFacts *all) {
      for (int64_t part = 0; part < writers.own.size; ++part)
        addFile(manifest, partFile(file, part), all[writers.members[static_cast<size_t>(part)]]);
    });
  });
}

void checkPartsAreHere(const std::string &folder, const ordered_json &manifest) {
  for (const ordered_json &file : manifest["files"]) {
    const std::string path = folder + "/" + file["name"].get<std::string>();
    if (platform::fileSize(path) != file["bytes"].get<uint64_t>())
      fail("'{}', which another rank wrote, is not to be seen by rank 0: --checkpoint-dir must name a folder "
           "that all ranks "
           "share",
           path);
  }
}

void writeWhole(const std::string &folder, const Executor &executor, ordered_json &manifest) {
  const Program &program = executor.program();
  forEachFile(program, [&](const char *file, const std::vector<NamedState> &states) {
    std::vector<TensorOut> tensors;
    for (const NamedState &entry : states)
      if (!entry.state->shard)
        tensors.push_back(wholeTensor(program, entry, [&executor, state = entry.state] {
          state->expectWhole("written");
          return executor.read(*state);
        }));
    addFile(manifest, file, writeTensorFile(folder + "/" + file, tensors));
  });
  FileWriter writer(folder + "/" + kManifest);
  writer.write(sealedManifest(manifest));
  writer.finish();
  platform::syncFolder(folder);
}

void writeFolder(const std::string &folder, const Executor &executor, const RunProgress &progress,
                 const RunScalars &scalars, const CheckpointRun &run) {
  ordered_json manifest = manifestJson(executor, progress, scalars, run);
  manifest["files"] = ordered_json::array();
  if (isParted(executor.program()))
    writeParts(folder, executor, manifest);
  if (!run.world.isFirst())
    return;
  checkPartsAreHere(folder, manifest);
  writeWhole(folder, executor, manifest);
}

/// What a checkpoint takes here, but for its headers.
uint64_t bytesOf(const Executor &executor) {
  uint64_t bytes = 0;
  forEachFile(executor.program(), [&](const char *, const std::vector<NamedState> &states) {
    for (const NamedState &entry : states)
      bytes += entry.state->desc.bytes();
  });
  return bytes;
}

void makeFolder(const std::string &folder) {
  if (!platform::removeAll(folder) || !platform::makeFolders(folder))
    fail("cannot create the checkpoint folder '{}': {}", folder, std::strerror(errno));
}

/// Whatever goes wrong, nothing is left under the name that nobody looks for.
template <typename Body> void orRemove(const std::string &temporary, Body &&body) {
  try {
    body();
  } catch (...) {
    platform::removeAll(temporary);
    throw;
  }
}

void putInPlace(const std::string &dir, const std::string &temporary, int64_t step) {
  const std::string target = folderOfStep(dir, step);
  if (platform::exists(target))
    setAside(dir, step, "something else is where this run's checkpoint belongs");
  if (!platform::renamePath(temporary, target))
    fail("cannot put the checkpoint '{}' in its place: {}", target, std::strerror(errno));
  platform::syncFolder(dir);
}

/// One rename puts either in the other's place, so that a best one stands at any time.
void putBestInPlace(const std::string &temporary, const std::string &target) {
  const bool placed = platform::exchangeNames(temporary, target)
                          ? platform::removeAll(temporary)
                          : platform::removeAll(target) && platform::renamePath(temporary, target);
  if (!placed)
    fail("cannot put the checkpoint '{}' in its place: {}", target, std::strerror(errno));
}

/// A whole checkpoint under a name that nobody looks for; false for ranks behind the first, which have
/// nothing to put in its place.
bool writeHidden(const std::string &temporary, const Executor &executor, const RunProgress &progress,
                 const RunScalars &scalars, const CheckpointRun &run) {
  const Unfinished scope(temporary);
  if (run.world.isFirst())
    makeFolder(temporary);
  try {
    writeFolder(temporary, executor, progress, scalars, run);
    if (run.world.isFirst())
      readCheckpoint(temporary,
                     /*files=*/true); // as the disk has it: older ones go because this one is whole
  } catch (const std::exception &error) {
    if (run.world.isFirst())
      platform::removeAll(temporary);
    if (dynamic_cast<const Stopped *>(&error))
      throw;
    fail("no checkpoint of step {} ({} bytes): {}", progress.step, bytesOf(executor), error.what());
  }
  return run.world.isFirst();
}

} // namespace

void writeBestCheckpoint(const std::string &dir, const Executor &executor, const RunProgress &progress,
                         const RunScalars &scalars, const CheckpointRun &run) {
  const std::string temporary = fmt::format("{}/{}{}", dir, kTemporary, kBest),
                    target = fmt::format("{}/{}", dir, kBest);
  if (!writeHidden(temporary, executor, progress, scalars, run))
    return;
  putBestInPlace(temporary, target);
  platform::syncFolder(dir);
}

void writeCheckpoint(const std::string &dir, const Executor &executor, const RunProgress &progress,
                     const RunScalars &scalars, CheckpointRun &run, int64_t keep) {
  const std::string temporary = fmt::format("{}/{}{}", dir, kTemporary, progress.step);
  if (!writeHidden(temporary, executor, progress, scalars, run))
    return;
  orRemove(temporary, [&] { putInPlace(dir, temporary, progress.step); });
  run.whole.insert(progress.step);
  hasCheckpoint = true;
  removeOlder(dir, progress.step, run, keep);
}

} // namespace kedge::rt
