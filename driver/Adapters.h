// Adapters between options, folders as peft saves them, and programs.
#pragma once
#include "driver/options/ModelOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// Expressions for the tensors that train whole beside the adapters of --adapter. Throws when the folder is
/// none.
std::vector<std::string> trainedBeside(const pipelines::AdapterOptions &options);

/// What a program needs to write such a folder: {"config": of peft, "whole": {state: name in the folder}}.
nlohmann::json adapterFacts(const pipelines::AdapterOptions &options, mlir::ModuleOp module);

} // namespace kedge::driver
