#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "runtime/io/Printable.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/train/Manifest.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace kedge::rt {
namespace {

using nlohmann::ordered_json;

/// N of "step-N", or nothing.
std::optional<int64_t> stepOf(const std::string &name) {
  constexpr std::string_view prefix = "step-";
  if (name.rfind(prefix, 0) != 0 || name.size() == prefix.size() || name.size() > 24)
    return std::nullopt;
  const char *end = name.data() + name.size();
  int64_t step = 0;
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || rest != end || step < 0 || name != fmt::format("{}{}", prefix, step))
    return std::nullopt;
  return step;
}

/// Not what is nested, which may be deep.
std::string shown(const ordered_json &value) {
  return value.is_structured() ? value.type_name() : value.dump();
}

void get(const ordered_json &json, const char *key, std::optional<double> &value) {
  if (auto found = json.find(key); found != json.end() && !found->is_null())
    checkRange(key, *(value = found->get<double>()));
}

void get(const ordered_json &json, const char *key, std::optional<int64_t> &value) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null())
    return;
  if (!found->is_number_integer() || (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX))
    fail("'{}' is {}, expected a whole number", key, shown(*found));
  value = found->get<int64_t>();
}

void getCount(const ordered_json &json, const char *key, std::optional<int64_t> &value) {
  if (auto found = json.find(key); found != json.end() && !found->is_null())
    checkRange(key, static_cast<double>(*(value = countIn(json, key))));
}

ScalarOptions scalarsOf(const ordered_json &json) {
  ScalarOptions s;
  getCount(json, "steps", s.steps);
  getCount(json, "decay_steps", s.decaySteps);
  get(json, "lr", s.lr);
  get(json, "min_lr", s.minLr);
  getCount(json, "warmup", s.warmup);
  get(json, "warmup_start", s.warmupStart);
  get(json, "weight_decay", s.weightDecay);
  get(json, "eps", s.eps);
  get(json, "dpo_beta", s.dpoBeta);
  get(json, "seed", s.seed);
  get(json, "shuffle", s.shuffle);
  s.schedule = parseSchedule(json.at("schedule"));
  s.beta1 = json.at("betas").at(0).get<double>();
  s.beta2 = json.at("betas").at(1).get<double>();
  checkRange("betas", *s.beta1);
  checkRange("betas", *s.beta2);
  return s;
}

/// Why the checkpoint is not whole; empty when it is.
std::string damage(const std::string &folder, const ordered_json &manifest) {
  std::set<std::string> names;
  for (const ordered_json &file : manifest.at("files")) {
    const std::string name = file.at("name");
    if (!platform::isPlainName(name) || !names.insert(name).second)
      return fmt::format("'{}' is no name of a file in the folder, or occurs twice", name);
    const std::string path = folder + "/" + name;
    if (platform::fileSize(path) != file.at("bytes").get<uint64_t>())
      return fmt::format("'{}' is missing or truncated", path);
    const FileMap map(path, "checkpoint file");
    if (checksumOf(map.data(), map.size()) != file.at("checksum").get<std::string>())
      return fmt::format("'{}' is damaged: its checksum differs", path);
  }
  for (const char *needed : {kModelFile, kOptimizerFile})
    if (!names.count(needed))
      return fmt::format("'{}' is not in its list of files", needed);
  return "";
}

std::optional<LossScale> lossScaleOf(const ordered_json &manifest) {
  if (!manifest.contains("hysteresis"))
    return std::nullopt;
  const LossScale scale{manifest.at("loss_scale"), countIn(manifest, "growth_counter"),
                        countIn(manifest, "hysteresis"), countIn(manifest, "optimizer_steps")};
  checkRange("loss_scale", scale.scale);
  checkRange("steps", static_cast<double>(scale.growthCounter), "growth_counter");
  checkRange("loss_scale_hysteresis", static_cast<double>(scale.hysteresis), "hysteresis");
  return scale;
}

std::vector<FrozenTensor> frozenOf(const ordered_json &json) {
  std::vector<FrozenTensor> frozen;
  for (const ordered_json &entry : json)
    frozen.push_back(
        {entry.at("name"), parseDType(entry.at("dtype").get<std::string>()), entry.at("checksum")});
  return frozen;
}

PartLayout layoutIn(const ordered_json &json, const std::string &name) {
  PartLayout layout{localShardOf(json), json.at("perm")};
  std::vector<int> axes = layout.perm;
  std::sort(axes.begin(), axes.end());
  bool fits = axes.empty() || axes.size() == layout.shard.shape.size();
  for (size_t axis = 0; axis < axes.size(); ++axis)
    fits &= axes[axis] == static_cast<int>(axis);
  if (!fits)
    fail("the parts of '{}' have no possible layout", name);
  return layout;
}

CheckpointParts partsOf(const ordered_json &manifest) {
  CheckpointParts parts;
  const auto found = manifest.find("parts");
  if (found == manifest.end())
    return parts;
  const int64_t ranks = countIn(*found, "ranks");
  parts.mesh = found->contains("mesh") ? Mesh::parse(found->at("mesh")) : Mesh::ofData(ranks);
  if (parts.mesh.size() != ranks)
    fail("its parts are of {} ranks, those of a mesh of {}", ranks, parts.mesh.size());
  for (const auto &[file, tensors] : found->at("tensors").items())
    for (const auto &[name, layout] : tensors.items())
      parts.tensors[file][name] = layoutIn(layout, name);
  return parts;
}

/// At most one evaluation follows a step.
BestSoFar bestOf(const ordered_json &manifest, int64_t step) {
  const auto found = manifest.find("best");
  if (found == manifest.end())
    return {};
  const BestSoFar best{found->at("metric"), found->at("value"), countIn(*found, "step"),
                       countIn(*found, "since")};
  if (best.step > step)
    fail("'best' is of step {}, expected at most 'step', which is {}", best.step, step);
  if (best.since > step - best.step)
    fail("'since' of 'best' is {}, expected at most {}, the steps since then", best.since, step - best.step);
  return best;
}

LogLine unevaluatedIn(const ordered_json &json, const RunProgress &progress) {
  if (progress.step == 0)
    fail("'unevaluated' is the line of a step, and 'step' is 0");
  const LogLine line = lineIn(json, progress.step - 1);
  if (line.optimizerSteps > progress.optimizerSteps)
    fail("'optimizer_steps' of 'unevaluated' is {}, expected at most {}", line.optimizerSteps,
         progress.optimizerSteps);
  return line;
}

RunProgress progressOf(const ordered_json &manifest) {
  const int64_t step = countIn(manifest, "step");
  RunProgress progress{
      step, countIn(manifest, "optimizer_steps"), countIn(manifest, "samples"), bestOf(manifest, step), {}};
  if (manifest.contains("sorted_rows"))
    progress.sortedRows = countIn(manifest, "sorted_rows");
  if (progress.optimizerSteps > progress.step)
    fail("'optimizer_steps' is {}, expected at most 'step', which is {}", progress.optimizerSteps,
         progress.step);
  if (const auto found = manifest.find("unevaluated"); found != manifest.end())
    progress.unevaluated = unevaluatedIn(*found, progress);
  return progress;
}

/// Thousands of times those of large models on many ranks.
constexpr size_t kLargestManifest = size_t(256) << 20;

} // namespace

Checkpoint readCheckpoint(const std::string &folder, bool files) {
  const std::string path = folder + "/" + kManifest;
  const FileMap map(path, "checkpoint manifest");
  if (map.size() > kLargestManifest)
    fail("{}: it has {} bytes, expected at most {}: it is no manifest of a checkpoint", path, map.size(),
         kLargestManifest);
  try {
    const ordered_json manifest = openManifest({map.data(), map.size()});
    if (const std::string reason = files ? damage(folder, manifest) : ""; !reason.empty())
      fail("{}", reason);
    return {folder,
            manifest.value("run", std::string()),
            progressOf(manifest),
            manifest.at("optimizer"),
            scalarsOf(manifest.at("scalars")),
            frozenOf(manifest.at("frozen")),
            lossScaleOf(manifest),
            partsOf(manifest)};
  } catch (const nlohmann::json::exception &error) {
    fail("{}: damaged: {}", path, error.what());
  } catch (const RuntimeError &error) {
    fail("{}: {}", path, error.what());
  }
}

namespace {

Checkpoint newestWhole(const std::string &dir) {
  if (platform::exists(dir + "/" + kManifest))
    return readCheckpoint(dir, /*files=*/true);
  std::string reasons;
  for (int64_t step : stepsIn(dir)) {
    try {
      Checkpoint found = readCheckpoint(folderOfStep(dir, step), /*files=*/true);
      if (found.progress.step == step)
        return found;
      fail("'{}' holds the checkpoint of step {}", folderOfStep(dir, step), found.progress.step);
    } catch (const RuntimeError &error) {
      say(fmt::format("kedge: warning: checkpoint step-{} is passed over: {}", step,
                      printable(error.what())));
      reasons += std::string("; ") + error.what();
    }
  }
  fail("--resume: '{}' holds no whole checkpoint (step-N with {}){}", dir, kManifest, reasons);
}

} // namespace

std::vector<int64_t> stepsIn(const std::string &dir) {
  std::vector<int64_t> steps;
  for (const std::string &name : platform::namesIn(dir))
    if (const auto step = stepOf(name); step && platform::isFolder(dir + "/" + name))
      steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

std::string folderOfStep(const std::string &dir, int64_t step) {
  return fmt::format("{}/step-{}", dir, step);
}

bool holdsCheckpoints(const std::string &dir) { return !stepsIn(dir).empty(); }

void removeLeftovers(const std::string &dir) {
  for (const std::string &name : platform::namesIn(dir))
    if (name.rfind(kTemporary, 0) == 0)
      platform::removeAll(dir + "/" + name);
}

Checkpoint newestCheckpoint(const std::string &dir, Communicator *ranks) {
  if (!ranks)
    return newestWhole(dir);
  std::optional<Checkpoint> found;
  std::string folder(4096, 0);
  if (ranks->world().isFirst()) {
    found = newestWhole(dir);
    found->folder.copy(folder.data(), folder.size() - 1);
  }
  ranks->broadcast(folder.data(), folder.size());
  return found ? *found : readCheckpoint(folder.substr(0, folder.find('\0')), /*files=*/false);
}

} // namespace kedge::rt
