#include "driver/plan/BucketPlan.h"
#include "driver/BudgetCheck.h"
#include "driver/Remedies.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Export/Plan/PlanView.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

using namespace mlir;

namespace kedge::driver {
namespace key = abi::key;
namespace {

/// Type and values of a constant, to be compared between contexts.
std::string contentOf(train::StateOp state) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << state.getType() << ' ';
  const auto dense = dyn_cast_or_null<DenseElementsAttr>(state.getInitAttr());
  if (dense && !dense.isSplat())
    stream << StringRef(dense.getRawData().data(), dense.getRawData().size());
  else
    stream << state.getInitAttr();
  return text;
}

int64_t persistentOf(ModuleOp module) {
  for (auto arena : module.getOps<exec::ArenaOp>())
    return arena.getPersistent();
  return 0;
}

} // namespace

void BucketPlan::addConstants(ModuleOp module) {
  const bool isLongest = buckets.empty();
  int64_t align = 1;
  for (auto arena : module.getOps<exec::ArenaOp>())
    align = arena.getAlign();
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getRole() != train::Role::Constant)
      continue;
    const std::string name = state.getSymName().str(), content = contentOf(state);
    if (isLongest)
      constants.emplace(name, content);
    else if (const auto found = constants.find(name); found == constants.end() || found->second != content)
      own += static_cast<int64_t>(llvm::alignTo(bytesOf(state.getType()), align));
  }
}

void BucketPlan::takeFromLongest(CompileOptions &options) const {
  options.model.nominalItems = items;
  if (longest.is_object() && longest["budget_bytes"].is_number())
    options.memory.plan.budget = MemoryBudget::ofBytes(longest["budget_bytes"]);
}

bool BucketPlan::fits() const {
  const nlohmann::json whole = report();
  if (whole["fits"].get<bool>())
    return true;
  const std::string reason = fmt::format(
      "sizes in {{}}: the arena of all lengths takes {} bytes more than the budget of {}: {} of constants "
      "that shorter lengths have of their own; not available yet, give a larger budget",
      whole["peak_bytes"].get<int64_t>() - whole["budget_bytes"].get<int64_t>(),
      whole["budget_bytes"].get<int64_t>(), own);
  reporter().sayTogether("kedge: " + reason, {{Severity::Error, reason, "", ""}});
  return false;
}

bool BucketPlan::add(const BucketOptions &bucket, Compilation &compilation) {
  const nlohmann::json &loss = compilation.factsOfLoss();
  if (!loss.contains(key::ignoreIndex))
    fail("--shape: sizes in {{}} need --loss cross-entropy so far: padding has labels that do not count");
  if (longest.is_null())
    items = loss.at(key::itemsPerBatch);
  if (const BudgetCheck budget(compilation.module(), bucket.options); !budget.fits()) {
    budget.sayWhyNothingFits(remediesText(bucket.options), fmt::format("rows of length {}: ", bucket.length));
    return false;
  }
  nlohmann::json report = compilation.report();
  addConstants(compilation.module());
  nlohmann::json inputs = nlohmann::json::object();
  for (const auto &[name, all] : shapes)
    inputs[name] = bucket.options.model.shapes.at(name);
  nlohmann::json entry = {{"length", bucket.length}, {"shapes", inputs}};
  for (const char *key : {"fits", "peak_bytes", "arena_bytes", "step_seconds", "flops", "recompute"})
    entry[key] = report[key];
  buckets.push_back(std::move(entry));
  const int64_t before = persistentOf(compilation.module());
  transient = std::max(transient, report["arena_bytes"].get<int64_t>() - before);
  if (longest.is_null()) {
    persistent = before;
    longest = std::move(report);
  }
  return true;
}

nlohmann::json BucketPlan::report() const {
  nlohmann::json report = longest;
  const int64_t arena = persistent + own + transient, more = arena - report["arena_bytes"].get<int64_t>();
  for (const char *key : {"arena_bytes", "peak_bytes", "unconstrained_peak_bytes", "smallest_feasible_bytes"})
    report[key] = report[key].get<int64_t>() + more;
  nlohmann::json &kinds = report["peak_breakdown"];
  kinds["buffers"] = kinds["buffers"].get<int64_t>() + own;
  kinds["activations"] = kinds["activations"].get<int64_t>() + more - own;
  for (nlohmann::json &function : report["functions"])
    function["persistent_bytes"] = persistent + own;
  if (report["budget_bytes"].is_number())
    report["fits"] = report["fits"].get<bool>() && report["peak_bytes"] <= report["budget_bytes"];
  report["buckets"] = nlohmann::json::array();
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
    report["buckets"].push_back(*bucket);
  return report;
}

std::string bucketText(const nlohmann::json &report) {
  std::string text = fmt::format("\na step of each length\n  {:>8}{:>14}{:>14}{:>12}{:>16}\n", "length",
                                 "peak", "arena", "a step", "recomputed ops");
  for (const nlohmann::json &bucket : report.at("buckets"))
    text += fmt::format("  {:>8}{:>14}{:>14}{:>10.3g} s{:>16}\n", bucket["length"].get<std::string>(),
                        exporter::formatAmount(bucket["peak_bytes"]),
                        exporter::formatAmount(bucket["arena_bytes"]), bucket["step_seconds"].get<double>(),
                        bucket["recompute"]["ops"].get<int64_t>());
  return text;
}

} // namespace kedge::driver
