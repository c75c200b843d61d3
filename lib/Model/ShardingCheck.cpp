#include "lib/Model/ShardingCheck.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <set>
#include <unordered_map>

namespace kedge::model {
namespace {

class Checker {
public:
  Checker(const Model &model, const DeviceConfiguration &configuration)
      : model(model), configuration(configuration) {}

  Stages run() {
    checkConfiguration();
    std::set<const Node *> outermost;
    for (const Node &node : model.graph.nodes)
      outermost.insert(&node);
    forEachNode(model.graph, [&](const Node &node) {
      checkNames(node);
      const NodeDevices *devices = node.devicesFor(configuration.name);
      if (devices && !outermost.contains(&node))
        failAt(node, "is in a graph within a node: annotations there are not available yet; leave them out");
      if (devices)
        checkNode(node, *devices);
    });
    const Stages stages = countStages();
    checkOrder();
    checkDevicesOfStages(stages);
    return stages;
  }

private:
  const Model &model;
  const DeviceConfiguration &configuration;

  template <typename... Args>
  [[noreturn]] void failAt(const Node &node, fmt::format_string<Args...> format, Args &&...args) const {
    fail("{}: configuration '{}': {} {}", model.path, configuration.name, node.describe(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename... Args>
  [[noreturn]] void failOf(const Node &node, const ShardingSpec &spec, fmt::format_string<Args...> format,
                           Args &&...args) const {
    failAt(node, "has a sharding spec of '{}' {}", spec.tensor,
           fmt::format(format, std::forward<Args>(args)...));
  }

  void checkConfiguration() const {
    const auto same = [&](const DeviceConfiguration &other) { return other.name == configuration.name; };
    if (std::ranges::count_if(model.configurations, same) > 1)
      fail("{}: has two device configurations named '{}'; expected unique names", model.path,
           configuration.name);
    if (configuration.devices < 1)
      fail("{}: configuration '{}' is of {} devices; expected at least 1", model.path, configuration.name,
           configuration.devices);
    if (const size_t names = configuration.deviceNames.size();
        names > 0 && names != static_cast<size_t>(configuration.devices))
      fail("{}: configuration '{}' is of {} devices, but names {}; expected a name for each, or none",
           model.path, configuration.name, configuration.devices, names);
    std::set<std::string> devices;
    for (const std::string &device : configuration.deviceNames)
      if (!devices.insert(device).second)
        fail("{}: configuration '{}' has two devices named '{}'; expected unique names", model.path,
             configuration.name, device);
    for (const auto &[name, call] : model.annotatedCalls)
      if (name == configuration.name)
        fail(
            "{}: configuration '{}': {} is a call of a function in the model, which is replaced by its body: "
            "annotations of the call are not available yet; annotate the nodes of the function",
            model.path, name, call);
  }

  /// A configuration that nobody declares is a slip of the pen.
  void checkNames(const Node &node) const {
    for (const NodeDevices &devices : node.devices)
      if (std::ranges::none_of(model.configurations, [&](const DeviceConfiguration &known) {
            return known.name == devices.configuration;
          }))
        failAt(node, "refers to a device configuration '{}', which the model does not have; it has {}",
               devices.configuration, namesOf(model));
    const auto isThis = [&](const NodeDevices &devices) {
      return devices.configuration == configuration.name;
    };
    if (std::ranges::count_if(node.devices, isThis) > 1)
      failAt(node, "has two entries for this configuration; expected one");
  }

  static std::string namesOf(const Model &model) {
    std::vector<std::string> names;
    for (const DeviceConfiguration &known : model.configurations)
      names.push_back("'" + known.name + "'");
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  }

  void checkNode(const Node &node, const NodeDevices &devices) const {
    std::set<std::string> tensors;
    for (const ShardingSpec &spec : devices.specs) {
      if (spec.operand < 0)
        failOf(node, spec, "which is none of its tensors; its inputs are {}; its outputs are {}",
               fmt::join(node.inputs, ", "), fmt::join(node.outputs, ", "));
      if (!tensors.insert(spec.tensor).second)
        failOf(node, spec, "twice; expected one spec for each tensor");
      // onnx-ir writes none where the parts are those of all devices, in their order.
      if (spec.devices.empty() && !devices.stage && spec.shards() > 1 &&
          spec.shards() != configuration.devices)
        failOf(node, spec,
               "of {} parts without devices; expected a device for each part, or as many parts as {} devices",
               spec.shards(), configuration.devices);
      checkGroups(node, spec);
      checkParts(node, spec);
    }
    if (devices.stage && *devices.stage < 0)
      failAt(node, "has the pipeline stage {}; expected 0 or more", *devices.stage);
  }

  void checkDevice(const Node &node, const ShardingSpec &spec, int64_t device) const {
    if (device < 0 || device >= configuration.devices)
      failOf(node, spec,
             "on device {}, which is neither one of the {} devices of the configuration (0 to {}) nor a key "
             "of index_to_device_group_map",
             device, configuration.devices, configuration.devices - 1);
  }

  void checkGroups(const Node &node, const ShardingSpec &spec) const {
    std::set<int64_t> keys;
    for (const auto &[key, group] : spec.groups) {
      if (!keys.insert(key).second)
        failOf(node, spec, "whose index_to_device_group_map has the key {} twice", key);
      if (group.empty())
        failOf(node, spec, "whose group {} has no device", key);
      for (int64_t device : group)
        checkDevice(node, spec, device);
      const bool isDevice = key >= 0 && key < configuration.devices;
      if (isDevice && group != std::vector<int64_t>{key})
        failOf(node, spec,
               "whose index_to_device_group_map has the key {}, which is a device's number too, with devices "
               "{}; expected "
               "{} alone, or a negative key",
               key, fmt::join(group, ", "), key);
    }
    for (int64_t device : spec.devices)
      if (!keys.contains(device))
        checkDevice(node, spec, device);
    std::set<int64_t> seen;
    for (const std::vector<int64_t> &holders : spec.holders())
      for (int64_t device : holders)
        if (!seen.insert(device).second)
          failOf(node, spec, "whose groups overlap: device {} is in two of them; expected disjoint groups",
                 device);
  }

  void checkParts(const Node &node, const ShardingSpec &spec) const {
    std::set<int64_t> axes;
    for (const ShardedAxis &axis : spec.axes) {
      if (!axes.insert(axis.axis).second)
        failOf(node, spec, "that names axis {} twice; expected one sharded_dim for each axis", axis.axis);
      if (axis.factors.empty())
        failOf(node, spec, "that names axis {} without a simple_sharding; expected num_shards of it",
               axis.axis);
      for (const ShardFactor &factor : axis.factors)
        if (factor.shards < 1)
          failOf(node, spec, "with num_shards {} on axis {}; expected 1 or more", factor.shards, axis.axis);
    }
    if (spec.devices.empty())
      return; // those of the node's stage
    const size_t parts = static_cast<size_t>(spec.shards());
    if (const size_t groups = spec.holders().size(); parts != groups)
      failOf(
          node, spec,
          "of {} parts (the product of num_shards) on {} devices or groups of devices; expected as many of "
          "both",
          parts, groups);
  }

  std::set<int64_t> givenStages() const {
    std::set<int64_t> stages;
    for (const Node &node : model.graph.nodes)
      if (const NodeDevices *devices = node.devicesFor(configuration.name); devices && devices->stage)
        stages.insert(*devices->stage);
    return stages;
  }

  Stages countStages() const {
    const std::set<int64_t> stages = givenStages();
    if (stages.empty())
      return {};
    const int64_t first = *stages.begin(), count = static_cast<int64_t>(stages.size());
    if (count == 1)
      checkOnlyStage(first);
    if (*stages.rbegin() - first + 1 != count)
      fail("{}: configuration '{}' has the pipeline stages {}; expected consecutive numbers", model.path,
           configuration.name, fmt::join(stages, ", "));
    return {first, count};
  }

  /// One stage is none; if it is said of some nodes alone, others were forgotten.
  void checkOnlyStage(int64_t stage) const {
    for (const Node &node : model.graph.nodes)
      if (const NodeDevices *devices = node.devicesFor(configuration.name); devices && !devices->stage)
        failAt(node,
               "has no pipeline stage, while others are of stage {}, the only one; expected a stage for each "
               "annotated node, or none",
               stage);
  }

  /// A node without a stage has the largest of its producers.
  void checkOrder() const {
    std::unordered_map<std::string, std::pair<int64_t, const Node *>> producers;
    for (const Node &node : model.graph.nodes) {
      std::pair<int64_t, const Node *> latest{-1, nullptr};
      for (const std::string &input : node.inputs)
        if (auto producer = producers.find(input);
            producer != producers.end() && producer->second.first > latest.first)
          latest = producer->second;
      const NodeDevices *devices = node.devicesFor(configuration.name);
      if (devices && devices->stage) {
        if (*devices->stage < latest.first)
          failAt(node,
                 "is of pipeline stage {}, but reads a value of {}, which is of stage {}: values go to later "
                 "stages only; give it stage {} or more",
                 *devices->stage, latest.second->describe(), latest.first, latest.first);
        latest = {*devices->stage, &node};
      }
      if (latest.second)
        for (const std::string &output : node.outputs)
          producers[output] = latest;
    }
  }

  void checkDevicesOfStages(const Stages &stages) const {
    if (stages.count == 1 || configuration.devices % stages.count != 0)
      return; // the mesh says which numbers of stages it takes
    const int64_t each = configuration.devices / stages.count;
    for (const Node &node : model.graph.nodes) {
      const NodeDevices *devices = node.devicesFor(configuration.name);
      if (!devices || !devices->stage)
        continue;
      const int64_t from = (*devices->stage - stages.first) * each;
      for (const ShardingSpec &spec : devices->specs)
        for (const std::vector<int64_t> &holders : spec.holders())
          for (int64_t device : holders)
            if (device < from || device >= from + each)
              failOf(node, spec, "on device {}, but is of pipeline stage {}, which is on devices {} to {}",
                     device, *devices->stage, from, from + each - 1);
    }
  }
};
} // namespace

Stages checkShardings(const Model &model, const DeviceConfiguration &configuration) {
  return Checker(model, configuration).run();
}

const DeviceConfiguration &findConfiguration(const Model &model, const std::string &name) {
  std::vector<std::string> names;
  for (const DeviceConfiguration &configuration : model.configurations) {
    if (configuration.name == name)
      return configuration;
    names.push_back("'" + configuration.name + "'");
  }
  fail("{}: has no device configuration '{}'; it has {}", model.path, name,
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

} // namespace kedge::model
