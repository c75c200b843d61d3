// The memory report (docs/guide/plan.md), and the arena as a table, made from level 4.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kedge::exporter {

/// Facts of a level-2 function, and how it was compiled.
struct StepCounts {
  std::map<std::string, int64_t> composites; ///< composites of the forward pass by their names in the report
  int64_t casts =
      0; ///< casts between float types in forward and backward; rounding in the optimizer is not counted
  int64_t gradientSize = 0; ///< bytes of an element of a gradient, set by --grad-dtype
};
StepCounts countStep(mlir::Operation *function);

/// `module` contains exec.function, exec.arena and train.state ops.
nlohmann::json planReport(mlir::ModuleOp module, const StepCounts &counts);

/// Adds the results of kedge-choose-recompute (`sched.recompute`) to a report.
void addRecomputeFacts(nlohmann::json &report, mlir::ModuleOp module);

/// The largest values at the launch with the highest load, with their bytes. The persistent region counts as
/// one.
std::vector<std::pair<std::string, int64_t>> largestAtPeak(mlir::ModuleOp module, size_t count);

/// The largest states that live in host memory, with their bytes.
std::vector<std::pair<std::string, int64_t>> largestOnHost(mlir::ModuleOp module, size_t count);

/// A table id,lower,upper,size,offset of all buffers of the arena (host memory is left
/// out). Functions follow each other in time; persistent buffers are live throughout.
std::string arenaTable(mlir::ModuleOp module);

/// The report as text for people: peak, breakdown, timeline, what fills the peak by layer, largest values.
std::string planText(const nlohmann::json &report, mlir::ModuleOp module);

/// The same as a self-contained HTML page, with a timeline and a map of the arena that can be explored.
/// `answers`: what kedge why says of each value and state, or null.
std::string planPage(const nlohmann::json &report, const nlohmann::json &answers, mlir::ModuleOp module,
                     const std::string &title);

} // namespace kedge::exporter
