// --shape 'INPUT=8x{128,512}': one program with a plan for each length of its rows.
#pragma once
#include "driver/options/CompileOptions.h"
#include "passes/Lower/Codegen/KernelCache.h"
#include <vector>

namespace kedge::driver {

/// The options of one bucket, and what it is called by: its sizes in {}, "128".
struct BucketOptions {
  std::string length;
  CompileOptions options;
};

/// Those of each bucket, the longest rows first: the others take over what it says of the loss. Throws
/// kedge::Error for what buckets do not go together with yet.
std::vector<BucketOptions> bucketsOf(const CompileOptions &options);

/// Compiles for each, links one program at `options.output.path`. Exit code: 0, or 2 when one fits no budget,
/// which is told, and nothing is written.
int compileBuckets(const CompileOptions &options, lower::KernelCache &cache);

} // namespace kedge::driver
