// kedge reduce: the smallest part of a model with which a command still fails.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kedge::driver {

struct ReduceQuestion {
  std::string model;   ///< an ONNX file
  std::string command; ///< for /bin/sh, with {} in the model's place
  std::string expect;  ///< what its output holds when it fails; empty: any, if a signal ends it
  std::string output;  ///< the ONNX file to write
  std::map<std::string, std::vector<int64_t>> shapes; ///< of inputs whose sizes the file leaves open
};

struct ReducedModel {
  size_t nodesBefore = 0, nodesAfter = 0; ///< constants are not counted
  size_t runs = 0;                        ///< of the command
  std::string ending;                     ///< how the command ends: "exit code 134"
};

/// Runs the command on ever smaller parts of the model: sizes of inputs in `shapes` go down, then nodes go,
/// half of them at first. What a node that is gone made becomes an input. Each part that fails as the model
/// does is written to `output`. Throws kedge::Error when the model does not fail, or no longer does once it
/// is written again.
ReducedModel reduce(const ReduceQuestion &question);

} // namespace kedge::driver
