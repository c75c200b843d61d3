#include "driver/shard/Configuration.h"
#include "lib/Model/ShardingCheck.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include <fmt/ranges.h>

namespace kedge::driver {
namespace {

using model::DeviceConfiguration;
using rt::Mesh;

/// None of a file that cannot be read: reading all of it says why.
std::vector<DeviceConfiguration> configurationsOf(const std::string &path) {
  try {
    return model::deviceConfigurations(path);
  } catch (const Error &) {
    return {};
  }
}

int64_t devicesOf(const Mesh &mesh) { return mesh.sizeOf(Mesh::kTensor) * mesh.sizeOf(Mesh::kPipeline); }

std::string namesOf(const std::vector<DeviceConfiguration> &all) {
  std::vector<std::string> names;
  for (const DeviceConfiguration &one : all)
    names.push_back(fmt::format("'{}' ({} devices)", one.name, one.devices));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The name of the only one that fits; empty: none does.
std::string onlyFitting(const GivenRanks &given, const CompileOptions &options,
                        const std::vector<DeviceConfiguration> &all) {
  std::vector<DeviceConfiguration> fitting;
  const int64_t ranks = options.model.ranks.front();
  for (const DeviceConfiguration &one : all)
    if (one.devices > 1 && (given.mesh ? devicesOf(options.model.meshOfRanks()) == one.devices
                                       : ranks > 1 && ranks % one.devices == 0))
      fitting.push_back(one);
  if (fitting.size() > 1)
    fail("{}: {} {} device configurations of the file: {}; name one with --configuration, or none",
         options.model.model, given.words, "fits several", namesOf(fitting));
  if (fitting.size() == 1)
    return fitting.front().name;
  if (!all.empty() && ranks > 1)
    note("{}: no device configuration of the file is for {}: it has {}; none is followed",
         options.model.model, given.words, namesOf(all));
  return "";
}

/// The axes that the configuration's devices form: a device group for each stage.
std::string axesOf(const model::Model &model, const DeviceConfiguration &one) {
  const model::Stages stages = model::checkShardings(model, one);
  if (one.devices % stages.count != 0)
    fail("{}: configuration '{}' has {} pipeline stages on {} devices: stages that share devices "
         "(interleaved) or leave some "
         "over are not available yet; expected a number of devices that {} divides",
         model.path, one.name, stages.count, one.devices, stages.count);
  std::string text;
  if (stages.count > 1)
    text += fmt::format("pipeline={}", stages.count);
  if (one.devices > stages.count)
    text += fmt::format("{}tensor={}", text.empty() ? "" : ",", one.devices / stages.count);
  return text;
}
} // namespace

void chooseConfiguration(const GivenRanks &given, CompileOptions &options) {
  ModelOptions &model = options.model;
  if (given.configuration == "none" || model.ranks.size() != 1 || options.replicas) {
    if (!given.configuration.empty() && given.configuration != "none")
      fail("--configuration {}: expected one number of ranks, or a mesh", given.configuration);
    return;
  }
  const bool several = given.mesh || model.ranks.front() > 1;
  if (given.configuration.empty() && !several)
    return;
  const std::vector<DeviceConfiguration> all = configurationsOf(model.model);
  const std::string name =
      given.configuration.empty() ? onlyFitting(given, options, all) : given.configuration;
  if (name.empty())
    return;
  const model::Model file = model::loadModel(model.model, {.requireExternalData = false});
  const DeviceConfiguration &one = model::findConfiguration(file, name);
  const std::string axes = axesOf(file, one);
  model.configuration = name;
  const Mesh own = Mesh::parse(axes);
  if (given.mesh) {
    const Mesh mesh = model.meshOfRanks();
    if (mesh.sizeOf(Mesh::kTensor) != own.sizeOf(Mesh::kTensor) ||
        mesh.sizeOf(Mesh::kPipeline) != own.sizeOf(Mesh::kPipeline))
      fail("{}: {}: configuration '{}' is for {}; give these axes, or --configuration none", model.model,
           given.words, name, axes.empty() ? "one device" : "--mesh " + axes);
    return;
  }
  const int64_t ranks = given.ranks ? model.ranks.front() : one.devices;
  if (ranks % one.devices != 0)
    fail("{}: {}: configuration '{}' is of {} devices; give a multiple of {} ranks, or --configuration none",
         model.model, given.words, name, one.devices, one.devices);
  model.ranks = {ranks};
  if (ranks > 1)
    model.mesh = Mesh::parse(fmt::format("data={}{}{}", ranks / one.devices, axes.empty() ? "" : ",", axes));
}

} // namespace kedge::driver
