#include "runtime/train/Checkpoint.h"
#include "runtime/io/Error.h"
#include "runtime/train/CheckpointTensors.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kedge::rt {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kFormat = 2; ///< 1 held the values of frozen tensors, too
constexpr const char *kManifest = "manifest.json";
constexpr const char *kTemporary = ".tmp-step-";

/// N of "step-N", or nothing.
std::optional<int64_t> stepOf(const std::string &name) {
  constexpr std::string_view prefix = "step-";
  if (name.rfind(prefix, 0) != 0 || name.size() == prefix.size() || name.size() > 24)
    return std::nullopt;
  const std::string digits = name.substr(prefix.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

/// Steps that have a folder, newest first.
std::vector<int64_t> stepsIn(const std::string &dir) {
  std::vector<int64_t> steps;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(dir, ignored))
    if (entry.is_directory(ignored))
      if (auto step = stepOf(entry.path().filename().string()))
        steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

std::string folderOfStep(const std::string &dir, int64_t step) {
  return fmt::format("{}/step-{}", dir, step);
}

template <typename T> void put(ordered_json &json, const char *key, const std::optional<T> &value) {
  if (value)
    json[key] = *value;
}

template <typename T> void get(const ordered_json &json, const char *key, std::optional<T> &value) {
  if (auto found = json.find(key); found != json.end() && !found->is_null())
    value = found->template get<T>();
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
  json["seed"] = s.seed;
  put(json, "shuffle", s.shuffle);
  return json;
}

ScalarOptions scalarsOf(const ordered_json &json) {
  ScalarOptions s;
  get(json, "steps", s.steps);
  get(json, "decay_steps", s.decaySteps);
  get(json, "lr", s.lr);
  get(json, "min_lr", s.minLr);
  get(json, "warmup", s.warmup);
  get(json, "warmup_start", s.warmupStart);
  get(json, "weight_decay", s.weightDecay);
  get(json, "eps", s.eps);
  get(json, "seed", s.seed);
  get(json, "shuffle", s.shuffle);
  s.schedule = parseSchedule(json.at("schedule"));
  s.beta1 = json.at("betas").at(0).get<double>();
  s.beta2 = json.at("betas").at(1).get<double>();
  return s;
}

ordered_json manifestJson(const Executor &executor, const Progress &progress, const RunScalars &scalars,
                          const CheckpointRun &run) {
  const CompileOptions &options = executor.program().options;
  ordered_json json;
  json["format"] = kFormat;
  json["program"] = executor.program().name;
  json["step"] = progress.step;
  json["optimizer_steps"] = progress.optimizerSteps;
  json["samples"] = progress.samples;
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
    json["frozen"].push_back({{"name", tensor.name}, {"dtype", dtypeName(tensor.type)}, {"checksum", tensor.checksum}});
  return json;
}

ordered_json writeTensorFile(const std::string &folder, const char *name,
                             const std::vector<TensorOut> &tensors) {
  FileWriter writer(folder + "/" + name);
  writeSafetensors(writer, tensors);
  writer.finish();
  return {{"name", name}, {"bytes", writer.bytesWritten()}, {"checksum", writer.checksum()}};
}

void writeFolder(const std::string &folder, const Executor &executor, const Progress &progress,
                 const RunScalars &scalars, const CheckpointRun &run) {
  ordered_json manifest = manifestJson(executor, progress, scalars, run);
  manifest["files"] = ordered_json::array();
  manifest["files"].push_back(writeTensorFile(folder, kModelFile, checkpointModelTensors(executor)));
  manifest["files"].push_back(writeTensorFile(folder, kOptimizerFile, optimizerTensors(executor)));
  FileWriter writer(folder + "/" + kManifest);
  writer.write(manifest.dump(1) + "\n");
  writer.finish();
  syncFolder(folder);
}

/// What a checkpoint takes, but for its headers.
uint64_t bytesOf(const Executor &executor) {
  uint64_t bytes = 0;
  for (const auto &tensors : {checkpointModelTensors(executor), optimizerTensors(executor)})
    for (const TensorOut &tensor : tensors)
      bytes += tensor.desc.bytes();
  return bytes;
}

/// Out of sight by a rename first, so that no half-removed checkpoint can be seen.
void removeCheckpoint(const std::string &dir, int64_t step) {
  const std::string hidden = fmt::format("{}/{}{}-old", dir, kTemporary, step);
  std::error_code ignored;
  fs::remove_all(hidden, ignored);
  fs::rename(folderOfStep(dir, step), hidden, ignored);
  fs::remove_all(hidden, ignored);
}

/// Why the checkpoint is not whole; empty when it is.
std::string damage(const std::string &folder, const ordered_json &manifest) {
  for (const ordered_json &file : manifest.at("files")) {
    const std::string path = folder + "/" + file.at("name").get<std::string>();
    std::error_code failed;
    const uint64_t bytes = fs::file_size(path, failed);
    if (failed || bytes != file.at("bytes").get<uint64_t>())
      return fmt::format("'{}' is missing or truncated", path);
    const FileMap map(path, "checkpoint file");
    if (checksumOf(map.data(), map.size()) != file.at("checksum").get<std::string>())
      return fmt::format("'{}' is damaged: its checksum differs", path);
  }
  return "";
}

std::optional<LossScale> lossScaleOf(const ordered_json &manifest) {
  if (!manifest.contains("hysteresis"))
    return std::nullopt;
  return LossScale{manifest.at("loss_scale"), manifest.at("growth_counter"), manifest.at("hysteresis"),
                   manifest.at("optimizer_steps")};
}

std::vector<FrozenTensor> frozenOf(const ordered_json &json) {
  std::vector<FrozenTensor> frozen;
  for (const ordered_json &entry : json)
    frozen.push_back({entry.at("name"), parseDType(entry.at("dtype").get<std::string>()), entry.at("checksum")});
  return frozen;
}

Checkpoint readManifest(const std::string &folder) {
  const std::string path = folder + "/" + kManifest;
  const FileMap map(path, "checkpoint manifest");
  try {
    const auto manifest = ordered_json::parse(std::string_view(map.data(), map.size()));
    if (manifest.at("format") != kFormat)
      fail("{}: checkpoint format {}, this program reads format {}", path, manifest.at("format").dump(), kFormat);
    if (const std::string reason = damage(folder, manifest); !reason.empty())
      fail("{}", reason);
    return {folder,
            {manifest.at("step"), manifest.at("optimizer_steps"), manifest.at("samples")},
            manifest.at("optimizer"),
            scalarsOf(manifest.at("scalars")),
            frozenOf(manifest.at("frozen")),
            lossScaleOf(manifest)};
  } catch (const nlohmann::json::exception &error) {
    fail("{}: damaged: {}", path, error.what());
  }
}

} // namespace

bool holdsCheckpoints(const std::string &dir) { return !stepsIn(dir).empty(); }

void removeLeftovers(const std::string &dir) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(dir, ignored))
    if (entry.path().filename().string().rfind(kTemporary, 0) == 0)
      fs::remove_all(entry.path(), ignored);
}

void writeCheckpoint(const std::string &dir, const Executor &executor, const Progress &progress,
                     const RunScalars &scalars, const CheckpointRun &run, int64_t keep) {
  const std::string temporary = fmt::format("{}/{}{}", dir, kTemporary, progress.step);
  const std::string target = folderOfStep(dir, progress.step);
  std::error_code failed;
  fs::remove_all(temporary, failed);
  fs::create_directories(temporary, failed);
  if (failed)
    fail("cannot create the checkpoint folder '{}': {}", temporary, failed.message());
  try {
    writeFolder(temporary, executor, progress, scalars, run);
  } catch (const std::exception &error) {
    fs::remove_all(temporary, failed);
    fail("no checkpoint of step {} ({} bytes): {}", progress.step, bytesOf(executor), error.what());
  }
  if (fs::exists(target, failed))
    removeCheckpoint(dir, progress.step);
  fs::rename(temporary, target, failed);
  if (failed)
    fail("cannot put the checkpoint '{}' in its place: {}", target, failed.message());
  syncFolder(dir);
  const std::vector<int64_t> steps = stepsIn(dir);
  for (size_t i = static_cast<size_t>(keep); i < steps.size(); ++i)
    removeCheckpoint(dir, steps[i]);
}

Checkpoint newestCheckpoint(const std::string &dir) {
  std::error_code failed;
  if (fs::exists(dir + "/" + kManifest, failed))
    return readManifest(dir);
  std::string reasons;
  for (int64_t step : stepsIn(dir)) {
    try {
      return readManifest(folderOfStep(dir, step));
    } catch (const Error &error) {
      fmt::print(stderr, "kedge: warning: checkpoint step-{} is passed over: {}\n", step, error.what());
      reasons += std::string("; ") + error.what();
    }
  }
  fail("--resume: '{}' holds no whole checkpoint (step-N with {}){}", dir, kManifest, reasons);
}

} // namespace kedge::rt
