// The launch table of a program as JSON (include/kedge/abi/program.md), from level 4.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>
#include <vector>

namespace kedge::exporter {

/// What goes into a program besides its launch table.
struct ProgramFacts {
  std::string name;
  std::string modelPath;                  ///< as the user gave it; weights are read from here
  std::vector<std::string> externalFiles; ///< resolved paths that weights name, besides the model
  bool embedWeights = false;
  nlohmann::json target;   ///< kind, triple, cpu, features, threads
  nlohmann::json options;  ///< the options of the compile command
  nlohmann::json plan;     ///< the memory report (docs/guide/plan.md)
  nlohmann::json skeleton; ///< for --export-onnx
  std::string labels;      ///< input that holds the labels; empty: none
};

struct ProgramImageParts {
  nlohmann::json json;
  std::vector<unsigned char> data; ///< appended to what `data` held before
};

/// `module` contains exec.function, exec.arena and train.state ops. Literals are appended to `data`, which
/// may already hold those of the skeleton. Throws kedge::Error when a weight file that must be embedded is
/// missing.
ProgramImageParts programJson(mlir::ModuleOp module, const ProgramFacts &facts,
                              std::vector<unsigned char> data = {});

} // namespace kedge::exporter
