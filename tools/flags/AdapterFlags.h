// Options of low-rank adapters.
#pragma once
#include "driver/options/ModelOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

void addAdapterOptions(CLI::App &command, pipelines::AdapterOptions &options);
/// Options that contradict each other, once all is parsed.
void checkAdapterOptions(const CLI::App &command, const pipelines::AdapterOptions &options);

} // namespace kedge::tool
