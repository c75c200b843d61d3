// ONNX's multi-device annotations, as plain structs: which devices a model is for, and how the tensors of a
// node lie on them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kedge::model {

/// DeviceConfigurationProto.
struct DeviceConfiguration {
  std::string name;
  int64_t devices = 0;
  std::vector<std::string> deviceNames; ///< empty, or one for each device
};

/// SimpleShardedDimProto: a factor of an axis and the parts it is cut into.
struct ShardFactor {
  std::optional<int64_t> size; ///< absent: symbolic or not said
  int64_t shards = 1;
};

/// ShardedDimProto: the factors of an axis, the outermost first.
struct ShardedAxis {
  int64_t axis = 0; ///< negative: from the last
  std::vector<ShardFactor> factors;

  /// The product of all `shards`.
  int64_t shards() const;
};

/// ShardingSpecProto: how one tensor lies on the devices. Axes that are not named are whole on each of them.
struct ShardingSpec {
  std::string tensor;
  int operand = -1; ///< the tensor's place among the node's inputs, then its outputs; -1: it is neither
  std::vector<int64_t> devices; ///< in the order of the parts; or keys of `groups`
  std::vector<std::pair<int64_t, std::vector<int64_t>>> groups;
  std::vector<ShardedAxis> axes;

  /// The product of all axes' `shards`.
  int64_t shards() const;
  /// For each part the devices that have it, as `devices` and `groups` say.
  std::vector<std::vector<int64_t>> holders() const;
};

/// NodeDeviceConfigurationProto.
struct NodeDevices {
  std::string configuration;
  std::vector<ShardingSpec> specs;
  std::optional<int64_t> stage; ///< of a pipeline
};

} // namespace kedge::model
