// What lint, plan and compile are told about the model.
#pragma once
#include "kedge/Lint/Lint.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

struct ModelOptions {
  std::string model;
  std::map<std::string, std::vector<int64_t>> shapes; // per rank and micro-batch
  std::string loss;                                   // "" when not given
  std::string logits, labels = "labels", lossOutput;
  std::optional<int64_t> classAxis;
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
  std::vector<std::string> train, freeze;
  bool trainMode = false, repair = false;
  std::vector<std::string> allow;
  std::vector<int64_t> ranks = {1};

  lint::Options lintOptions() const;
};

/// Adds MODEL and all options above to a subcommand.
void addModelOptions(CLI::App &command, ModelOptions &options);

/// "input_ids=8x1024" -> name and sizes; nothing behind '=' is a scalar. Throws kedge::Error.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

} // namespace kedge::tool
