#include "driver/joint/JointCosts.h"
#include "driver/Compilation.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Analysis/StepGraph.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Progress.h"
#include "runtime/exec/Executor.h"

namespace kedge::driver {

using solver::JointChoice;
using solver::JointPlan;

namespace {

int64_t limitOf(const std::string &text, const analysis::DeviceModel &device) {
  const MemoryBudget given = parseMemoryBudget(text);
  switch (given.kind) {
  case MemoryBudget::Kind::Bytes:
    return given.bytes;
  case MemoryBudget::Kind::None:
  case MemoryBudget::Kind::Device:
    return device.memoryBytes;
  case MemoryBudget::Kind::PeakShare:
  case MemoryBudget::Kind::ActivationShare:
    break;
  }
  fail("--auto: expected a --memory-budget in bytes (such as 16GiB) or 'device', found '{}'", text);
}

/// Search steps of the memory solver for a choice among many: plans of the whole effort take a hundred times as long,
/// and differ by tenths of a percent.
constexpr int64_t kQuick = 1;

/// Nothing is computed again yet, and no value goes to host memory.
CompileOptions unplanned(CompileOptions options) {
  options.memoryBudget.clear();
  options.recompute = "none";
  std::erase(options.offload, "activations");
  return options;
}

} // namespace

JointCosts::JointCosts(const JointSpace &space, const CompileOptions &options)
    : space(space),
      device(options.deviceName().empty() ? analysis::thisMachine() : analysis::loadDevice(options.deviceName())),
      limit(limitOf(options.memoryBudget, device)) {}

double JointCosts::bound(const JointChoice &choice, int which) {
  if (which == 0)
    return common(choice);
  const Schedule &known = schedule(choice);
  return known.heldBytes > limit ? solver::kNever : known.seconds;
}

/// On one rank; ranks along `tensor` and `pipeline` share it at best.
double JointCosts::common(const JointChoice &choice) {
  const std::string key = space.value(choice, kRowsAxis) + " " + space.value(choice, kPrecisionAxis);
  auto found = commons.find(key);
  if (found == commons.end()) {
    CompileOptions one = unplanned(space.optionsOf(choice));
    one.model.mesh.clear(), one.model.ranks = {1}, one.zero = 0, one.link.clear(), one.offload.clear();
    const ProgressStage stage("bounding " + key, 0);
    Compilation compilation(one);
    compilation.import();
    compilation.step();
    compilation.schedule();
    found = commons.emplace(key, analysis::commonSeconds(compilation.module(), device, one.accumulate)).first;
  }
  const rt::Mesh mesh = space.meshOf(choice);
  return found->second /
         static_cast<double>(mesh.sizeOf(rt::Mesh::kTensor) * mesh.sizeOf(rt::Mesh::kPipeline));
}

/// Of those that differ in what happens to activations later, one serves all.
const JointCosts::Schedule &JointCosts::schedule(const JointChoice &choice) {
  auto found = schedules.find(choice);
  if (found != schedules.end())
    return found->second;
  const CompileOptions one = unplanned(space.optionsOf(choice));
  const ProgressStage stage(fmt::format("bounding, {}", schedules.size() + 1), 0);
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  compilation.schedule();
  Schedule known;
  known.seconds = analysis::stepLowerBound(compilation.module(), device, one.accumulate);
  const analysis::StepCost cost = analysis::stepCost(compilation.scheduledLaunches(), one.accumulate);
  if (const auto update = cost.functionSeconds.find("update"); update != cost.functionSeconds.end())
    known.updateSeconds = update->second;
  known.heldBytes = analysis::heldBytes(compilation.module(), rt::physicalCores());
  return schedules.emplace(choice, known).first->second;
}

JointPlan JointCosts::plan(const JointChoice &choice) {
  const std::pair key(limit, choice);
  auto found = plans.find(key);
  if (found == plans.end())
    found = plans.emplace(key, planned(choice)).first;
  return found->second;
}

JointPlan JointCosts::planned(const JointChoice &choice) {
  CompileOptions one = space.optionsOf(choice);
  one.memoryBudget = std::to_string(limit);
  if (one.effort == 0)
    one.effort = kQuick;
  const ProgressStage stage(fmt::format("planning, {}", plans.size() + 1), 0);
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  compilation.schedule();
  compilation.plan();
  const nlohmann::json report = compilation.report();
  least[choice] = report["smallest_feasible_bytes"];
  JointPlan plan;
  plan.fits = report["fits"];
  plan.peakBytes = report["peak_bytes"];
  if (!plan.fits)
    return plan;
  plan.seconds = report["step_seconds"];
  plan.lowerBound = leastSeconds(choice, report);
  return plan;
}

/// With what must be computed again. Gathers that are repeated may be hidden, so that stage 3 counts none of it.
double JointCosts::leastSeconds(const JointChoice &choice, const nlohmann::json &report) {
  const Schedule &known = schedule(choice);
  if (space.value(choice, kZeroAxis) == "3")
    return known.seconds;
  double once = 0, updates = 0;
  for (const nlohmann::json &function : report["functions"])
    if (const std::string name = function["name"]; name == "step" || name == "micro" || name == "update") {
      once += function["seconds"].get<double>();
      updates += name == "update" ? function["seconds"].get<double>() : 0;
    }
  const nlohmann::json &recompute = report["recompute"];
  const double overhead = recompute["overhead"], share = recompute["lower_bound"];
  const double added = share * once / (1 + overhead);
  // All of it is of micro-batches where the update runs nothing again.
  const bool isOfMicroBatches = updates <= known.updateSeconds;
  return known.seconds + added * (isOfMicroBatches ? static_cast<double>(space.accumulateOf(choice)) : 1);
}

int64_t JointCosts::heldBytes(const JointChoice &choice) const {
  const auto found = schedules.find(choice);
  return found == schedules.end() ? 0 : found->second.heldBytes;
}

int64_t JointCosts::leastBytes(const JointChoice &choice) const {
  const auto found = least.find(choice);
  return found == least.end() ? 0 : found->second;
}

} // namespace kedge::driver
