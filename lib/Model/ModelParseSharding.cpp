// Multi-device annotations: configurations of a model, and what a node says of each.
#include "lib/Model/ModelParse.h"

namespace kedge::model {
namespace {

std::pair<int64_t, std::vector<int64_t>> parseGroup(ParseContext &context, Span span) {
  std::pair<int64_t, std::vector<int64_t>> group;
  WireReader reader(*context.file, span, "a group of devices");
  while (reader.next())
    if (reader.field() == 1)
      group.first = reader.varint();
    else if (reader.field() == 2)
      reader.varints([&](int64_t device) { group.second.push_back(device); });
  return group;
}

ShardFactor parseFactor(ParseContext &context, Span span) {
  ShardFactor factor;
  factor.shards = 0; // as protobuf has it where nothing is said
  WireReader reader(*context.file, span, "a sharded dimension");
  while (reader.next())
    if (reader.field() == 1)
      factor.size = reader.varint();
    else if (reader.field() == 3)
      factor.shards = reader.varint();
  return factor;
}

ShardedAxis parseShardedAxis(ParseContext &context, Span span) {
  ShardedAxis axis;
  WireReader reader(*context.file, span, "a sharded axis");
  while (reader.next())
    if (reader.field() == 1)
      axis.axis = reader.varint();
    else if (reader.field() == 2)
      axis.factors.push_back(parseFactor(context, reader.bytes()));
  return axis;
}

ShardingSpec parseShardingSpec(ParseContext &context, Span span) {
  ShardingSpec spec;
  WireReader reader(*context.file, span, "a sharding spec");
  while (reader.next())
    switch (reader.field()) {
    case 1:
      spec.tensor = reader.string();
      break;
    case 2:
      reader.varints([&](int64_t device) { spec.devices.push_back(device); });
      break;
    case 3:
      spec.groups.push_back(parseGroup(context, reader.bytes()));
      break;
    case 4:
      spec.axes.push_back(parseShardedAxis(context, reader.bytes()));
      break;
    default:
      break;
    }
  return spec;
}
} // namespace

DeviceConfiguration parseDeviceConfiguration(ParseContext &context, Span span) {
  DeviceConfiguration configuration;
  WireReader reader(*context.file, span, "a device configuration");
  while (reader.next())
    if (reader.field() == 1)
      configuration.name = reader.string();
    else if (reader.field() == 2)
      configuration.devices = reader.varint();
    else if (reader.field() == 3)
      configuration.deviceNames.push_back(reader.string());
  return configuration;
}

NodeDevices parseNodeDevices(ParseContext &context, Span span) {
  NodeDevices devices;
  WireReader reader(*context.file, span, "a node's device configuration");
  while (reader.next())
    if (reader.field() == 1)
      devices.configuration = reader.string();
    else if (reader.field() == 2)
      devices.specs.push_back(parseShardingSpec(context, reader.bytes()));
    else if (reader.field() == 3)
      devices.stage = reader.varint();
  return devices;
}

void bindSpecs(Node &node) {
  for (NodeDevices &devices : node.devices)
    for (ShardingSpec &spec : devices.specs) {
      std::vector<std::string> tensors = node.inputs;
      tensors.insert(tensors.end(), node.outputs.begin(), node.outputs.end());
      for (size_t k = 0; k < tensors.size() && spec.operand < 0; ++k)
        if (!spec.tensor.empty() && tensors[k] == spec.tensor)
          spec.operand = static_cast<int>(k);
    }
}

std::vector<DeviceConfiguration> deviceConfigurations(const std::string &path) {
  std::vector<DeviceConfiguration> found;
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const LoadOptions options;
  ParseContext context{file, options};
  WireReader reader(*file, {0, file->size()}, "the model");
  while (reader.next())
    if (reader.field() == 26)
      found.push_back(parseDeviceConfiguration(context, reader.bytes()));
  return found;
}

} // namespace kedge::model
