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

/// Search steps of the memory solver for a choice among many: plans of the whole effort take a hundred times
/// as long, and differ by tenths of a percent.
constexpr int64_t kQuick = 1;

/// Nothing is computed again yet, and nothing goes to host memory.
CompileOptions unplanned(CompileOptions options) {
  options.memoryBudget.clear(), options.hostMemoryBudget.clear();
  options.recompute = "none";
  options.offload.clear();
  return options;
}

analysis::DeviceModel withoutLatency(analysis::DeviceModel device) {
  device.linkSeconds = 0;
  for (analysis::LinkLevel &level : device.links)
    level.seconds = level.hopSeconds = 0;
  return device;
}

} // namespace

JointCosts::JointCosts(const JointSpace &space, const CompileOptions &options)
    : space(space), device(options.deviceName().empty() ? analysis::thisMachine()
                                                        : analysis::loadDevice(options.deviceName())),
      swift(withoutLatency(device)), limit(limitOf(options.memoryBudget, device)) {}

double JointCosts::bound(const JointChoice &choice, int which) {
  if (which == 0)
    return common(choice);
  return heldBytes(choice) > limit ? solver::kNever : scheduledSeconds(choice);
}

/// On one rank; ranks along `tensor` and `pipeline` share it at best.
double JointCosts::common(const JointChoice &choice) {
  const std::string key = space.value(choice, kRowsAxis) + " " + space.value(choice, kPrecisionAxis);
  auto found = commons.find(key);
  if (found == commons.end()) {
    CompileOptions one = unplanned(space.optionsOf(choice));
    one.model.mesh.clear(), one.model.ranks = {1}, one.partition.stage = 0, one.link.clear();
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

const JointCosts::Schedule &JointCosts::schedule(const JointChoice &choice) {
  JointChoice key = choice;
  key[kOffloadAxis] = key[kBucketAxis] = 0;
  auto found = schedules.find(key);
  if (found != schedules.end())
    return found->second;
  CompileOptions one = unplanned(space.optionsOf(key));
  if (space.axes()[kBucketAxis].values.size() > 1)
    one.bucketBytes = 1;
  const ProgressStage stage(fmt::format("bounding, {}", schedules.size() + 1), 0);
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  compilation.schedule();
  Schedule known;
  known.seconds = analysis::stepLowerBound(compilation.module(), swift, one.accumulate);
  known.heldBytes = analysis::heldBytes(compilation.module(), rt::physicalCores());
  for (const std::string &offload : space.axes()[kOffloadAxis].values)
    known.moved[offload] =
        analysis::movedStates(compilation.module(), JointSpace::offloadOf(offload), device);
  return schedules.emplace(key, known).first->second;
}

double JointCosts::scheduledSeconds(const JointChoice &choice) {
  const Schedule &known = schedule(choice);
  return known.seconds + known.moved.at(space.value(choice, kOffloadAxis)).seconds;
}

int64_t JointCosts::heldBytes(const JointChoice &choice) {
  const Schedule &known = schedule(choice);
  return known.heldBytes - known.moved.at(space.value(choice, kOffloadAxis)).bytes;
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

/// With what must be computed again. Gathers that are repeated may be hidden, so that stage 3 counts none of
/// it.
double JointCosts::leastSeconds(const JointChoice &choice, const nlohmann::json &report) {
  const double seconds = scheduledSeconds(choice);
  if (space.value(choice, kZeroAxis) == "3")
    return seconds;
  double once = 0;
  for (const nlohmann::json &function : report["functions"])
    if (const std::string name = function["name"]; name == "step" || name == "micro" || name == "update")
      once += function["seconds"].get<double>();
  const nlohmann::json &recompute = report["recompute"];
  const double overhead = recompute["overhead"], share = recompute["lower_bound"];
  return seconds + share * once / (1 + overhead);
}

int64_t JointCosts::leastBytes(const JointChoice &choice) const {
  const auto found = least.find(choice);
  return found == least.end() ? 0 : found->second;
}

} // namespace kedge::driver
