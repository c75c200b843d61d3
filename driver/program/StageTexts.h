// --emit of a pipeline: its ranks have a text each.
#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Support/FileCache.h"

namespace kedge::driver {

/// The IR that --emit asks for (train, schedule, exec or llvm; onnx is one text for all), rank by rank, each
/// behind a line "// -----" and its name, so that tools read them one by one (--split-input-file).
std::string textsOfStages(const CompileOptions &options, FileCache *cache);

} // namespace kedge::driver
