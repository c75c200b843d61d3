// --recompute, --offload and the budgets: choosing, checking against the packed arena, and saying why nothing fits.
#include "driver/Compilation.h"
#include "driver/ProgramOptions.h"
#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Analysis/Reservations.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Export/Plan/PlanReport.h"
#include "kedge/Support/Error.h"
#include "kedge/Support/MemoryBudget.h"
#include "runtime/exec/Executor.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// Bytes of the arena that a level-3 module gets, with what is reserved beside it.
int64_t peakBytes(ModuleOp module, int threads) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  pipelines::addMemoryPipeline(manager, threads);
  if (failed(manager.run(*copy)))
    fail("the memory plan could not be made (above)");
  int64_t bytes = 0;
  for (auto arena : copy->getOps<exec::ArenaOp>())
    bytes = arena.getBytes();
  return bytes + analysis::sumOf(analysis::reservationsOf(analysis::targetOf(module).str(), threads));
}

int64_t fact(ModuleOp module, llvm::StringRef name) {
  auto facts = module->getAttrOfType<DictionaryAttr>("sched.recompute");
  auto number = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? number.getInt() : -1;
}

/// A policy that changes nothing should not look as if it had.
void noteWithoutEffect(const CompileOptions &options, ModuleOp module) {
  std::string policy = options.recomputePolicy();
  auto facts = module->getAttrOfType<DictionaryAttr>("sched.recompute");
  auto ops = facts ? facts.getAs<IntegerAttr>("ops") : IntegerAttr();
  if (ops && ops.getInt() == 0 && policy != "none" && policy != "auto" && !options.isTrial)
    fprintf(stderr, "kedge: note: --recompute %s finds nothing to compute again in this model: it equals none\n",
            policy.c_str());
}

bool fitsDevice(ModuleOp module) {
  auto facts = module->getAttrOfType<DictionaryAttr>("sched.recompute");
  auto known = facts ? facts.getAs<BoolAttr>("fits") : BoolAttr();
  return !known || known.getValue();
}

} // namespace

void Compilation::rematerialize() {
  int threads = rt::physicalCores();
  pipelines::RecomputeOptions recompute{options.recomputePolicy(), options.memoryBudget, options.deviceName(), options.effort,
                                        0, threads, options.offloads("activations"), options.hostMemoryBudget};
  OwningOpRef<ModuleOp> before = ir->clone();
  // What the pass foresees and what is packed in the end are the same; should they ever differ, the difference is
  // left unused.
  for (int attempt = 0; attempt < 4; ++attempt) {
    run(Phase::Rematerialize, [&](OpPassManager &manager) { pipelines::addRematerializePipeline(manager, recompute); });
    noteWorkspaces();
    int64_t excess = fitsDevice(*ir) && !options.memoryBudget.empty() ? peakBytes(*ir, threads) - fact(*ir, "budget_bytes") : 0;
    if (excess <= 0)
      return noteWithoutEffect(options, *ir);
    recompute.slack += excess;
    ir = before->clone();
  }
  fail("{}: not compiled: the packed arena stays above the memory budget", options.model.model);
}

/// With --accumulate 1 there are no accumulators: gradients are values that end with their update.
void Compilation::offloadStates() {
  std::vector<std::string> states;
  for (const std::string &kind : options.offload)
    if (kind != "activations")
      states.push_back(kind);
  run(Phase::Rematerialize, [&](OpPassManager &manager) {
    pipelines::addOffloadPipeline(manager, states, options.deviceName(), rt::physicalCores());
  });
  if (options.offloads("gradients") && options.accumulate == 1 && !options.isTrial)
    fprintf(stderr, "kedge: note: --offload gradients: without --accumulate no gradient outlives its update: nothing to "
                    "offload\n");
}

int64_t Compilation::hostBytes() {
  for (auto arena : ir->getOps<exec::HostArenaOp>())
    return arena.getBytes();
  return 0;
}

bool Compilation::fits() { return fitsDevice(*ir) && hostBytes() <= options.hostLimit().value_or(hostBytes()); }

std::string Compilation::whyNothingFits() {
  if (fitsDevice(*ir))
    return whyHostDoesNotFit();
  std::string text = fmt::format("kedge: {}: no plan found within the memory budget of {} bytes ({})\n", options.model.model,
                                 fact(*ir, "budget_bytes"), formatBytes(fact(*ir, "budget_bytes")));
  text += "largest values at the peak of the smallest plan:\n";
  for (const auto &[name, bytes] : largestAtPeak(*ir, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  text += fmt::format("proven: no plan needs less than {} bytes\n", fact(*ir, "proven_floor_bytes"));
  text += fmt::format("smallest feasible budget: {} bytes\n", fact(*ir, "smallest_feasible_bytes"));
  return text;
}

/// Values go to host memory as far as it has room; states are what they are.
std::string Compilation::whyHostDoesNotFit() {
  int64_t limit = *options.hostLimit();
  std::string text = fmt::format("kedge: {}: what --offload puts into host memory takes {} bytes ({}), above the host "
                                 "memory budget of {} bytes ({})\n",
                                 options.model.model, hostBytes(), formatBytes(hostBytes()), limit, formatBytes(limit));
  text += "largest states there:\n";
  for (const auto &[name, bytes] : largestOnHost(*ir, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  return text + fmt::format("smallest feasible host memory budget: {} bytes\n", hostBytes());
}

} // namespace kedge::driver
