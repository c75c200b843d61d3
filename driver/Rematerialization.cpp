// --recompute, --offload and the budgets: choosing, checking against the packed arena, and saying why nothing
// fits.
#include "driver/Compilation.h"
#include "driver/options/ProgramOptions.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Dialect/Exec/ExecOps.h"
#include "lib/Dialect/Sched/SchedDialect.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "runtime/exec/Executor.h"

using namespace mlir;

namespace kedge::driver {
namespace {

int64_t fact(ModuleOp module, llvm::StringRef name) {
  auto facts = sched::RecomputeNote(module.getContext()).getAttr(module);
  auto number = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? number.getInt() : -1;
}

/// As many as a person reads and a plot shows.
constexpr int kFrontierPoints = 10;

bool fitsDevice(ModuleOp module) {
  auto facts = sched::RecomputeNote(module.getContext()).getAttr(module);
  auto known = facts ? facts.getAs<BoolAttr>("fits") : BoolAttr();
  return !known || known.getValue();
}

} // namespace

/// States move first: what is computed again fills what they leave.
void Compilation::buildRematerialize(OpPassManager &manager) const {
  buildOffload(manager);
  pipelines::addRematerializePipeline(manager, recomputeOptions());
}

void Compilation::buildOffload(OpPassManager &manager) const {
  std::vector<std::string> states;
  for (const std::string &kind : options.offload)
    if (kind != "activations")
      states.push_back(kind);
  if (!options.offload.empty())
    pipelines::addOffloadPipeline(manager, states, options.deviceName(), rt::physicalCores());
}

pipelines::RecomputeOptions Compilation::recomputeOptions() const {
  return {options.recomputePolicy(), options.memoryBudget,
          options.deviceName(),      options.effort,
          rt::physicalCores(),       options.offloads("activations"),
          options.hostMemoryBudget,  options.frontier ? kFrontierPoints : 0};
}

/// The phase in two parts: which values there are is known once the plan is chosen.
void Compilation::rematerializePriced(const ValueChooser &choose) {
  PassManager choice(&context), prices(&context);
  buildOffload(choice);
  pipelines::addChoosePipeline(choice, recomputeOptions());
  runAll(choice, Phase::Rematerialize);
  pipelines::addPricedPipeline(prices, recomputeOptions(), choose(*ir, model));
  runAll(prices, Phase::Rematerialize);
  tracesLaunches = true;
}

/// Says which flags change nothing in this step.
void Compilation::noteWithoutEffect() {
  if (options.isTrial)
    return;
  // With --accumulate 1 there are no accumulators: gradients are values that end with their update.
  if (options.offloads("gradients") && options.accumulate == 1)
    fprintf(
        stderr,
        "kedge: note: --offload gradients: without --accumulate no gradient outlives its update: nothing to "
        "offload\n");
  std::string policy = options.recomputePolicy();
  if (fact(*ir, "ops") == 0 && policy != "none" && policy != "auto")
    fprintf(stderr,
            "kedge: note: --recompute %s finds nothing to compute again in this model: it equals none\n",
            policy.c_str());
}

/// What kedge-choose-recompute foresees is what is packed in the end.
void Compilation::checkBudget() {
  if (options.memoryBudget.empty() || !fitsDevice(*ir))
    return;
  int64_t bytes = analysis::sumOf(analysis::reservationsOf(*ir, rt::physicalCores()));
  for (auto arena : ir->getOps<exec::ArenaOp>())
    bytes += arena.getBytes();
  if (bytes > fact(*ir, "budget_bytes"))
    fail("{}: not compiled: the plan takes {} bytes, above the memory budget of {}, which what is computed "
         "again was to "
         "keep",
         options.model.model, bytes, fact(*ir, "budget_bytes"));
}

int64_t Compilation::hostBytes() {
  for (auto arena : ir->getOps<exec::HostArenaOp>())
    return arena.getBytes();
  return 0;
}

bool Compilation::fits() {
  return fitsDevice(*ir) && hostBytes() <= options.hostLimit().value_or(hostBytes());
}

std::string Compilation::whyNothingFits(const std::string &remedies) {
  if (fitsDevice(*ir))
    return whyHostDoesNotFit(remedies);
  std::string text =
      fmt::format("kedge: {}: no plan found within the memory budget of {} bytes ({})\n", options.model.model,
                  fact(*ir, "budget_bytes"), formatBytes(fact(*ir, "budget_bytes")));
  text += "largest values at the peak of the smallest plan:\n";
  for (const auto &[name, bytes] : exporter::largestAtPeak(*ir, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  text +=
      remedies + fmt::format("proven: no plan needs less than {} bytes\n", fact(*ir, "proven_floor_bytes"));
  text += fmt::format("smallest feasible budget: {} bytes\n", fact(*ir, "smallest_feasible_bytes"));
  return text;
}

/// Values go to host memory as far as it has room; states are what they are.
std::string Compilation::whyHostDoesNotFit(const std::string &remedies) {
  int64_t limit = *options.hostLimit();
  std::string text =
      fmt::format("kedge: {}: what --offload puts into host memory takes {} bytes ({}), above the host "
                  "memory budget of {} bytes ({})\n",
                  options.model.model, hostBytes(), formatBytes(hostBytes()), limit, formatBytes(limit));
  text += "largest states there:\n";
  for (const auto &[name, bytes] : exporter::largestOnHost(*ir, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  return text + remedies + fmt::format("smallest feasible host memory budget: {} bytes\n", hostBytes());
}

} // namespace kedge::driver
