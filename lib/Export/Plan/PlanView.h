// Which bytes live when, read from level 4; the reports for people are drawn from it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace kedge::exporter {

/// A byte range of the arena. Times are launch numbers of its function: -1
/// is before the first launch, and the number of launches is after the last.
struct PlanRange {
  std::string name, type;
  std::string layer; ///< dotted path of the module of the model that it belongs to; empty when unknown
  std::string share; ///< a key of the report's peak_breakdown
  int64_t bytes = 0; ///< rounded up to the alignment
  int64_t offset = 0, first = 0, last = 0;
};

struct PlanLaunch {
  std::string kernel, layer;
  enum class Phase { Forward, Backward, Update, Recompute, Copy } phase = Phase::Forward;
  std::string reason; ///< why it is recomputed or copied to or from host memory
};

struct PlanFunction {
  std::string name;
  std::vector<PlanLaunch> launches;
  std::vector<PlanRange> ranges; ///< transient ones
  std::vector<int64_t> load;     ///< transient bytes at time i - 1
  size_t fullest() const;        ///< index into `load`
};

struct PlanView {
  int64_t arenaBytes = 0, persistentBytes = 0;
  std::vector<PlanRange> state; ///< persistent ranges; they live all the time
  std::vector<PlanFunction> functions;

  size_t fullest() const; ///< the function with the largest load
};

/// `module` holds exec.function, exec.arena and train.state ops.
PlanView viewPlan(mlir::ModuleOp module);

/// The group in which reports list a module path: the path up to its first numbered part ("h.0" of
/// "h.0.attn.c_attn").
std::string layerGroup(const std::string &layer);

/// "512 B", "1.25 GiB".
std::string formatAmount(int64_t bytes);

} // namespace kedge::exporter
