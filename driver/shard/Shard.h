// kedge shard: layouts over a mesh as ONNX's multi-device annotations, and what they send.
#pragma once
#include "driver/options/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

struct ShardRequest {
  std::string output;        ///< the annotated file; empty: none is written
  std::string configuration; ///< its name there; empty: the mesh's text
  bool check = false;        ///< whether the configuration that the file has can be followed
  bool explain = false;      ///< list each collective
};

/// Chooses, or follows, the layouts and does what is asked (docs/onnx-sharding.md describes the fields).
/// Throws kedge::Error.
nlohmann::json shard(const CompileOptions &options, const ShardRequest &request);
std::string shardText(const nlohmann::json &answer);

} // namespace kedge::driver
