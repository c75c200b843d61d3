// Options of training for integers: --qat and what describes it.
#pragma once
#include "driver/options/CompileOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

void addQuantizationOptions(CLI::App &command, pipelines::AdapterOptions &options);
/// Throws kedge::Error where --qat and another option cannot be together, or an option is for --qat alone.
void checkQuantizationOptions(const CLI::App &command, const driver::CompileOptions &options);

} // namespace kedge::tool
