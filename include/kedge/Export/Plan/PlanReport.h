// The memory report of contract section 5, and the arena as a table, from level 4.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kedge {

/// What a level-2 function holds, and what it was asked for.
struct StepCounts {
  std::map<std::string, int64_t> composites; ///< forward, by the contract's names
  int64_t casts = 0; ///< from one float type to another, forward and backward: what an optimizer rounds counts for none
  int64_t gradientSize = 0; ///< bytes of a gradient's element, where --grad-dtype says it
};
StepCounts countStep(mlir::Operation *function);

/// `module` holds exec.function, exec.arena and train.state ops.
nlohmann::json planReport(mlir::ModuleOp module, const StepCounts &counts);

/// Puts what kedge-choose-recompute found (`sched.recompute`) into a report.
void addRecomputeFacts(nlohmann::json &report, mlir::ModuleOp module);

/// The largest values that live at the fullest launch, with their bytes; the persistent region counts as one.
std::vector<std::pair<std::string, int64_t>> largestAtPeak(mlir::ModuleOp module, size_t count);

/// The largest states that live in host memory, with their bytes.
std::vector<std::pair<std::string, int64_t>> largestOnHost(mlir::ModuleOp module, size_t count);

/// id,lower,upper,size,offset of every buffer of the arena (not of host memory); functions follow each other in time, persistent buffers live
/// throughout.
std::string arenaTable(mlir::ModuleOp module);

/// The report for a person: peak, breakdown, timeline, what fills the peak by layer, largest values.
std::string planText(const nlohmann::json &report, mlir::ModuleOp module);

/// The same as an HTML page that needs nothing else: timeline and arena map to look around in.
std::string planPage(const nlohmann::json &report, mlir::ModuleOp module, const std::string &title);

} // namespace kedge
