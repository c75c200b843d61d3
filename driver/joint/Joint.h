// plan --auto and compile --auto: the fastest of all choices that fits, and a bound that none of them beats.
#pragma once
#include "driver/options/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

struct JointAnswer {
  bool fits = false;
  CompileOptions options; ///< of the choice; of the one that needs the fewest bytes when none fits
  /// choice{mesh, zero, rows, accumulate, precision, offload, bucket_bytes, sequence_parallel,
  /// pipeline_schedule}, seconds, lower_bound, gap, considered, scheduled, planned, refused, budget_bytes,
  /// rows[]{choice, seconds, at_least, peak_bytes, why} (the best ten), axes{NAME[]{value, at_least,
  /// seconds}}: the best with each value; with --frontier frontier[]{budget_bytes, peak_bytes, seconds,
  /// lower_bound, choice}.
  nlohmann::json report;
};

/// Throws kedge::Error for options that --auto is not available with.
JointAnswer planJointly(const CompileOptions &options);

/// The answer as a table; with `explains`, what each value of each axis would cost.
std::string jointText(const nlohmann::json &report, bool explains);

} // namespace kedge::driver
