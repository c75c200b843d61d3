#include "runtime/train/Checkpoint.h"
#include "runtime/io/Error.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/CheckpointTensors.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kedge::rt {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

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

template <typename T> void get(const ordered_json &json, const char *key, std::optional<T> &value) {
  if (auto found = json.find(key); found != json.end() && !found->is_null())
    value = found->template get<T>();
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

CheckpointParts partsOf(const ordered_json &manifest) {
  CheckpointParts parts;
  const auto found = manifest.find("parts");
  if (found == manifest.end())
    return parts;
  parts.ranks = found->at("ranks");
  for (const auto &[file, tensors] : found->at("tensors").items())
    for (const auto &[name, layout] : tensors.items())
      parts.tensors[file][name] = {layout.at("shape"), layout.at("perm")};
  return parts;
}

/// `checks`: the content of the files, too.
Checkpoint readManifest(const std::string &folder, bool checks) {
  const std::string path = folder + "/" + kManifest;
  const FileMap map(path, "checkpoint manifest");
  try {
    const auto manifest = ordered_json::parse(std::string_view(map.data(), map.size()));
    if (manifest.at("format") != kCheckpointFormat && manifest.at("format") != kPartedFormat)
      fail("{}: checkpoint format {}, this program reads formats {} and {}", path, manifest.at("format").dump(),
           kCheckpointFormat, kPartedFormat);
    if (const std::string reason = checks ? damage(folder, manifest) : ""; !reason.empty())
      fail("{}", reason);
    return {folder,
            {manifest.at("step"), manifest.at("optimizer_steps"), manifest.at("samples")},
            manifest.at("optimizer"),
            scalarsOf(manifest.at("scalars")),
            frozenOf(manifest.at("frozen")),
            lossScaleOf(manifest),
            partsOf(manifest)};
  } catch (const nlohmann::json::exception &error) {
    fail("{}: damaged: {}", path, error.what());
  }
}

Checkpoint newestWhole(const std::string &dir) {
  std::error_code failed;
  if (fs::exists(dir + "/" + kManifest, failed))
    return readManifest(dir, true);
  std::string reasons;
  for (int64_t step : stepsIn(dir)) {
    try {
      return readManifest(folderOfStep(dir, step), true);
    } catch (const Error &error) {
      fmt::print(stderr, "kedge: warning: checkpoint step-{} is passed over: {}\n", step, error.what());
      reasons += std::string("; ") + error.what();
    }
  }
  fail("--resume: '{}' holds no whole checkpoint (step-N with {}){}", dir, kManifest, reasons);
}

} // namespace

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

bool holdsCheckpoints(const std::string &dir) { return !stepsIn(dir).empty(); }

void removeLeftovers(const std::string &dir) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(dir, ignored))
    if (entry.path().filename().string().rfind(kTemporary, 0) == 0)
      fs::remove_all(entry.path(), ignored);
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
  return found ? *found : readManifest(folder.c_str(), false);
}

} // namespace kedge::rt
