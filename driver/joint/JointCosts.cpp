#include "driver/joint/JointCosts.h"
#include "driver/Compilation.h"
#include "driver/plan/PipelinePlan.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Solver/Mesh/PipelineBound.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Progress.h"
#include "passes/Mesh/WideRegion.h"
#include "passes/Pipeline/Schedule.h"
#include "runtime/exec/Executor.h"

namespace kedge::driver {

using solver::JointChoice;
using solver::JointPlan;

namespace {

int64_t limitOf(const MemoryBudget &given, const analysis::DeviceModel &device) {
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
  fail("--auto: expected a --memory-budget in bytes (such as 16GiB) or 'device', found '{}'", given.text());
}

/// Search steps of the memory solver for a choice among many: plans of the whole effort take a hundred times
/// as long, and differ by tenths of a percent.
constexpr int64_t kQuick = 1;

/// Nothing is computed again yet, and nothing goes to host memory.
CompileOptions unplanned(CompileOptions options) {
  options.memory = {};
  return options;
}

analysis::DeviceModel withoutLatency(analysis::DeviceModel device) {
  device.linkSeconds = 0;
  for (analysis::LinkLevel &level : device.links)
    level.seconds = level.hopSeconds = 0;
  return device;
}

} // namespace

/// Of --feed-forward-chunk, where a choice fits with it alone.
constexpr int64_t kFeedForwardChunk = 256 << 20;

/// What differs in what is not scheduled is one.
static JointChoice scheduleOf(JointChoice choice) {
  choice[kOffloadAxis] = choice[kBucketAxis] = 0;
  return choice;
}

JointCosts::JointCosts(const JointSpace &space, const CompileOptions &options)
    : space(space), device(analysis::loadDevice(options.deviceName())), swift(withoutLatency(device)),
      limit(limitOf(options.memory.plan.budget, device)) {}

/// What a model has no way to be split by is no choice.
double JointCosts::bound(const JointChoice &choice, int which) {
  if ((which > 0 || space.isUncertain(choice)) && refused.count(scheduleOf(choice)) > 0)
    return solver::kNever;
  try {
    return bounded(choice, which);
  } catch (const Error &error) {
    if (!space.isUncertain(choice) || (which == 0 && space.isSplit(choice)))
      throw;
    refused[scheduleOf(choice)] = error.what();
    return solver::kNever;
  }
}

double JointCosts::bounded(const JointChoice &choice, int which) {
  if (which == 0)
    return common(choice);
  const bool pipelined = space.meshOf(choice).sizeOf(rt::Mesh::kPipeline) > 1;
  if (which == 1)
    return std::max(common(choice) + (pipelined ? filled(choice) : 0), sent(choice));
  if (which == 2)
    return common(choice) + (pipelined ? waited(choice) : shown(choice));
  return heldBytes(choice) > limit ? solver::kNever : scheduledSeconds(choice);
}

std::string JointCosts::refusal(const JointChoice &choice) const {
  const auto plan = refusedPlans.find(choice), split = refused.find(scheduleOf(choice));
  const std::string why = plan != refusedPlans.end() ? plan->second
                          : split != refused.end()   ? split->second
                                                     : "";
  return why.substr(0, why.find('\n'));
}

/// Where ranks divide the model, that takes as long again as all the rest.
void JointCosts::count(mlir::ModuleOp module, const JointChoice &choice, bool isOfOneRank) {
  const int64_t weight = space.isSplit(choice) && !isOfOneRank ? 2 : 1;
  module.walk([&](mlir::Operation *) { ops += weight; });
}

const JointCosts::Common &JointCosts::commonOf(const JointChoice &choice) {
  const bool addsUp = space.accumulateOf(choice) > 1;
  const rt::Mesh shares = space.meshOf(choice).along(rt::Mesh::kExpert);
  const std::string key = space.value(choice, kRowsAxis) + " " + space.value(choice, kPrecisionAxis) +
                          (addsUp ? " added up" : "") + (shares.size() > 1 ? " " + shares.text() : "");
  const auto found = commons.find(key);
  if (found != commons.end())
    return found->second;
  CompileOptions one = unplanned(space.optionsOf(choice));
  one.model.mesh.reset(), one.model.ranks = {1}, one.partition.stage = 0, one.machine.link.clear();
  if (shares.size() > 1) // else a rank would have the matrices of all experts
    one.model.mesh = shares, one.model.ranks = {shares.size()};
  one.accumulate = addsUp ? 2 : 1;
  const ProgressStage stage("bounding " + key, 0);
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  const bool isWide = mesh::hasWideFeedForward(compilation.module(), kFeedForwardChunk);
  compilation.schedule();
  count(compilation.module(), choice, /*isOfOneRank=*/true);
  const auto micros = static_cast<double>(one.accumulate);
  const Common known{analysis::commonSeconds(compilation.module(), device, one.accumulate) / micros,
                     analysis::productSeconds(compilation.module(), device, one.accumulate) / micros,
                     analysis::leastForwardShare(compilation.module(), device), isWide};
  return commons.emplace(key, known).first->second;
}

/// Ranks along `tensor` and `pipeline` share a micro-batch at best.
double JointCosts::shareOf(const JointChoice &choice, double micro) const {
  const rt::Mesh &mesh = space.meshOf(choice);
  return micro / static_cast<double>(mesh.sizeOf(rt::Mesh::kTensor) * mesh.sizeOf(rt::Mesh::kPipeline));
}

double JointCosts::common(const JointChoice &choice) {
  return static_cast<double>(space.accumulateOf(choice)) * shareOf(choice, commonOf(choice).seconds);
}

/// What the ranks of a pipeline wait on average, whatever its stages are, by what products take. Under
/// zero-bubble, products of weights may be left for the end: there only the forward is waited for.
double JointCosts::filled(const JointChoice &choice) {
  const std::optional<pipeline::Schedule> schedule =
      pipeline::Schedule::parse(space.value(choice, kScheduleAxis));
  if (!schedule)
    return 0;
  const Common &known = commonOf(choice);
  const solver::PipelineShape shape{space.meshOf(choice).sizeOf(rt::Mesh::kPipeline), schedule->chunks,
                                    space.accumulateOf(choice)};
  const double share = schedule->runsWeightsApart() ? known.forwardShare : 1;
  const auto key = std::tuple(shape.ranks, shape.chunks, shape.microBatches, share);
  auto found = spans.find(key);
  if (found == spans.end())
    found = spans.emplace(key, solver::leastSpan(shape, share)).first;
  const auto ranks = static_cast<double>(shape.ranks);
  return (found->second * ranks - static_cast<double>(shape.microBatches)) * shareOf(choice, known.products);
}

/// Of the tensor ranks, for a micro-batch of the choice's rows.
const solver::StepChain &JointCosts::chainOf(const JointChoice &choice) {
  const rt::Mesh blocks = space.meshOf(choice).along(rt::Mesh::kTensor);
  const std::string key = fmt::format("{} {} {} {}", blocks.text(), space.value(choice, kPrecisionAxis),
                                      space.value(choice, kLayoutAxis), space.value(choice, kRowsAxis));
  auto found = chains.find(key);
  if (found == chains.end()) {
    CompileOptions one = unplanned(space.optionsOf(choice));
    one.model.mesh = blocks, one.model.ranks = {blocks.size()};
    one.partition.stage = 0, one.accumulate = 2;
    const ProgressStage stage("bounding " + key, 0);
    Compilation compilation(one);
    compilation.import();
    compilation.step();
    compilation.schedule();
    count(compilation.module(), choice);
    found = chains.emplace(key, analysis::longestChain(compilation.module(), swift)).first;
  }
  return found->second;
}

/// Along `tensor`, for all micro-batches: on average over the ranks of a pipeline, which send one thing at a
/// time. A micro-batch of fewer rows sends as much a row.
double JointCosts::sent(const JointChoice &choice) {
  const rt::Mesh &mesh = space.meshOf(choice);
  if (mesh.sizeOf(rt::Mesh::kTensor) == 1)
    return 0;
  JointChoice most = choice;
  most[kRowsAxis] = 0;
  return static_cast<double>(space.rowsOfStep(choice)) /
         static_cast<double>(std::max<int64_t>(1, space.rowsOf(most)) * mesh.sizeOf(rt::Mesh::kPipeline)) *
         chainOf(most).sending;
}

/// What the tensor ranks send in a chain, less what could hide it.
double JointCosts::shown(const JointChoice &choice) {
  if (space.meshOf(choice).sizeOf(rt::Mesh::kTensor) == 1)
    return 0;
  const solver::StepChain &chain = chainOf(choice);
  return static_cast<double>(space.accumulateOf(choice)) * std::max(0.0, chain.sending - chain.besides);
}

/// A step ends when the slowest rank does: its own launches and what it waits. So it takes at least what
/// ranks take on average.
double JointCosts::waited(const JointChoice &choice) {
  const JointChoice key = scheduleOf(choice);
  auto found = waits.find(key);
  if (found != waits.end())
    return found->second;
  const CompileOptions one = unplanned(space.optionsOf(key));
  const ProgressStage stage(fmt::format("bounding pipelines, {}", waits.size() + 1), 0);
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  count(compilation.module(), choice);
  const std::vector<pipeline::Slot> slots = slotsOf(compilation.module());
  const int64_t places = space.meshOf(choice).sizeOf(rt::Mesh::kPipeline);
  return waits.emplace(key, pipeline::bubbleOf(slots, places) * pipeline::endOf(slots)).first->second;
}

const JointCosts::Schedule &JointCosts::schedule(const JointChoice &choice) {
  const JointChoice key = scheduleOf(choice);
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
  count(compilation.module(), choice);
  Schedule known;
  known.seconds = analysis::stepLowerBound(compilation.module(), swift, one.accumulate);
  if (one.isPipelined()) { // the first rank's
    const std::vector<pipeline::Slot> slots = slotsOf(compilation.module());
    const int64_t places = space.meshOf(choice).sizeOf(rt::Mesh::kPipeline);
    known.seconds += pipeline::bubbleOf(slots, places, 0) * pipeline::endOf(slots);
  }
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
  if (found != plans.end())
    return found->second;
  JointPlan plan;
  try {
    plan = planned(choice);
  } catch (const Error &error) {
    if (!space.isUncertain(choice))
      throw;
    refusedPlans[choice] = error.what();
  }
  return plans.emplace(key, plan).first->second;
}

JointPlan JointCosts::planned(const JointChoice &choice) {
  const CompileOptions one = space.optionsOf(choice);
  const JointPlan whole = planned(choice, one.feedForwardChunk);
  if (whole.fits || space.isChunkFixed() || !commonOf(choice).isWide)
    return whole;
  const int64_t leastWhole = least[choice];
  const JointPlan chunked = planned(choice, kFeedForwardChunk);
  if (chunked.fits)
    chunks[choice] = kFeedForwardChunk;
  else
    least[choice] = std::min(leastWhole, least[choice]);
  return chunked.fits ? chunked : whole;
}

JointPlan JointCosts::planned(const JointChoice &choice, int64_t feedForwardChunk) {
  CompileOptions one = space.optionsOf(choice);
  one.memory.plan.budget = MemoryBudget::ofBytes(limit);
  one.feedForwardChunk = feedForwardChunk;
  if (one.memory.plan.effort == 0)
    one.memory.plan.effort = kQuick;
  const ProgressStage stage(fmt::format("planning, {}", plans.size() + 1), 0);
  const nlohmann::json report = reportOf(one);
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

int64_t JointCosts::chunkOf(const JointChoice &choice) const {
  const auto found = chunks.find(choice);
  return found == chunks.end() ? space.optionsOf(choice).feedForwardChunk : found->second;
}

/// With what must be computed again. Collectives that are repeated may be hidden, so that stage 3 and ranks
/// that divide the model count none of it.
double JointCosts::leastSeconds(const JointChoice &choice, const nlohmann::json &report) {
  const double seconds = scheduledSeconds(choice);
  if (space.value(choice, kZeroAxis) == "3" || space.isUncertain(choice))
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
