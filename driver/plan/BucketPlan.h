// The plans of all lengths of a program's rows, as one.
#pragma once
#include "driver/Compilation.h"
#include "driver/program/Buckets.h"

namespace kedge::driver {

/// Gathers the plans of buckets, the longest rows first. Compilations are planned (level 4).
class BucketPlan {
public:
  explicit BucketPlan(const CompileOptions &options) : shapes(options.model.buckets) {}
  /// The loss of a step is a mean over the items of the longest rows in each bucket, before those that count
  /// are known, and the budget is that of the longest. To be called before the bucket is compiled.
  void takeFromLongest(CompileOptions &options) const;
  /// False, after it was said why, where the bucket does not fit the budget. Throws kedge::Error for a loss
  /// that knows no padding.
  bool add(const BucketOptions &bucket, Compilation &compilation);

  /// Whether all of them together stay within the budget; says why not. When all are there.
  bool fits() const;
  /// That of the longest, in an arena for all: `buckets` has what each takes.
  nlohmann::json report() const;

private:
  void addConstants(mlir::ModuleOp module);

  const std::map<std::string, std::vector<std::vector<int64_t>>> &shapes;
  double items = 0; ///< of a micro-batch of the longest
  nlohmann::json longest, buckets = nlohmann::json::array();
  std::map<std::string, std::string> constants;   ///< of the longest, by name: what they hold
  int64_t own = 0, persistent = 0, transient = 0; ///< own: bytes of constants that the longest lacks
};

/// "  length         peak ...", a row for each bucket of a report.
std::string bucketText(const nlohmann::json &report);

} // namespace kedge::driver
