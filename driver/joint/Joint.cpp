#include "driver/joint/Joint.h"
#include "driver/Compilation.h"
#include "driver/joint/JointCosts.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace kedge::driver {
namespace {

using nlohmann::json;
using solver::JointChoice;
using solver::JointRow;

constexpr size_t kShown = 10;
/// The search ends when no choice can be faster by this share, or after so many plans.
constexpr double kTolerance = 0.01;
constexpr int64_t kPlans = 12, kPlansOfPoint = 4;
/// Ops that are made for bounds: so many in all, and so many more at least once a plan fits. On one core half
/// a minute for a model of 32 layers, and up to four times as long for one of 48.
constexpr int64_t kAllOps = 2'580'000, kOps = 60'000;

/// What the numbers of a step depend on: statistics of a micro-batch, a loss of the graph that is a mean over
/// it.
bool dependsOnRows(Compilation &compilation, const CompileOptions &options) {
  if (!options.model.lossOutput.empty() || options.model.loss == LossFunction::None)
    return true;
  bool found = false;
  compilation.module().walk([&](train::BatchNormOp) { found = true; });
  return found;
}

/// What divides all numbers of experts, of whose matrices ranks can have some; 1 without any.
int64_t expertsOf(Compilation &compilation) {
  int64_t experts = 0;
  compilation.module().walk([&](train::GroupedMatmulOp product) {
    experts = std::gcd(experts, cast<mlir::RankedTensorType>(product.getW().getType()).getDimSize(0));
  });
  return std::max<int64_t>(1, experts);
}

void checkOptions(const CompileOptions &options) {
  const std::pair<const char *, bool> others[] = {
      {"several numbers of --ranks", options.model.ranks.size() > 1},
      {"--replicas", options.replicas.has_value()},
      {"--same-bits", options.sameBits > 0},
      {"--batchnorm exact", options.batchNorm == pipelines::BatchNorm::Exact},
      {"--deepspeed-config", !options.deepSpeedConfig.empty()},
      {"--max-added-time", options.plan.maxAddedTime.has_value()},
      {"a file of --save-ir", !options.resumedFrom.empty()}};
  for (const auto &[what, isGiven] : others)
    if (isGiven)
      fail("--auto: not available yet with {}", what);
}

bool hasSeveral(const JointSpace &space, const JointChoice &choice, const char *axis) {
  return space.meshOf(choice).sizeOf(axis) > 1;
}

json choiceJson(const JointSpace &space, const JointCosts &costs, const JointChoice &choice) {
  return {{"mesh", space.value(choice, kMeshAxis)},
          {"zero", std::stoll(space.value(choice, kZeroAxis))},
          {"rows", space.rowsOf(choice)},
          {"accumulate", space.accumulateOf(choice)},
          {"precision", space.value(choice, kPrecisionAxis)},
          {"offload", space.value(choice, kOffloadAxis)},
          {"bucket_bytes", std::stoll(space.value(choice, kBucketAxis))},
          {"feed_forward_chunk", costs.chunkOf(choice)},
          {"sequence_parallel", hasSeveral(space, choice, rt::Mesh::kTensor)
                                    ? json(space.value(choice, kLayoutAxis) == "on")
                                    : json()},
          {"pipeline_schedule", hasSeveral(space, choice, rt::Mesh::kPipeline)
                                    ? json(space.value(choice, kScheduleAxis))
                                    : json()}};
}

/// The best way of those that do not divide the model, whose bounds are cheap, then that of all.
solver::JointResult searchAll(const JointSpace &space, JointCosts &costs) {
  std::vector<JointChoice> whole = space.choices();
  std::erase_if(whole, [&](const JointChoice &choice) { return space.isSplit(choice); });
  solver::JointOptions options{kTolerance, kPlans, 0, {}};
  if (!whole.empty())
    if (const solver::JointResult first = solver::searchJointly(costs, whole, options); first.found())
      options.first = first.rows.front().choice;
  options.spend = std::max(kAllOps, costs.spent() + kOps);
  return solver::searchJointly(costs, space.choices(), options);
}

/// What a choice needs at least, as far as it is known.
int64_t neededBytes(JointCosts &costs, const JointChoice &choice) {
  if (!costs.refusal(choice).empty())
    return std::numeric_limits<int64_t>::max();
  const int64_t least = costs.leastBytes(choice);
  return least ? least : costs.heldBytes(choice);
}

/// Where nothing fits: the choice that needs the fewest bytes. Those that hold less than it all the time are
/// planned first, as many as a point of the frontier has plans.
JointChoice smallestOf(JointCosts &costs, solver::JointResult &result) {
  const auto smallest = [&](bool ofPlanned) -> JointRow & {
    const auto key = [&](const JointRow &row) {
      return std::pair(ofPlanned && !row.planned, neededBytes(costs, row.choice));
    };
    return *std::min_element(result.rows.begin(), result.rows.end(),
                             [&](const JointRow &a, const JointRow &b) { return key(a) < key(b); });
  };
  for (int64_t plans = 0; plans < kPlansOfPoint; ++plans) {
    JointRow &row = smallest(false);
    if (row.planned)
      break;
    row.plan = costs.plan(row.choice);
    row.planned = true;
    ++result.planned;
  }
  return smallest(true).choice;
}

class Answer {
public:
  Answer(const JointSpace &space, JointCosts &costs, const solver::JointResult &result,
         const JointChoice &chosen)
      : space(space), costs(costs), result(result), chosen(chosen) {}

  json report() const {
    json report = {
        {"considered", result.rows.size()},
        {"scheduled", costs.scheduled()},
        {"planned", result.planned},
        {"refused", std::count_if(result.rows.begin(), result.rows.end(),
                                  [&](const JointRow &row) { return !costs.refusal(row.choice).empty(); })},
        {"budget_bytes", costs.budget()},
        {"seconds", nullptr},
        {"lower_bound", nullptr},
        {"gap", nullptr}};
    report["choice"] = choiceJson(space, costs, chosen);
    if (result.found()) {
      report["seconds"] = result.rows.front().plan.seconds;
      report["lower_bound"] = result.lowerBound;
      report["gap"] = result.gap();
    }
    for (size_t i = 0; i < std::min(kShown, result.rows.size()); ++i)
      report["rows"].push_back(rowJson(result.rows[i]));
    for (size_t axis = 0; axis < space.axes().size(); ++axis)
      report["axes"][space.axes()[axis].name] = valuesOf(axis);
    return report;
  }

private:
  json rowJson(const JointRow &row) const {
    const bool fits = row.planned && row.plan.fits;
    const double least = row.least();
    return {{"choice", choiceJson(space, costs, row.choice)},
            {"seconds", fits ? json(row.plan.seconds) : json()},
            {"at_least", least == solver::kNever ? json() : json(least)},
            {"peak_bytes", row.planned ? json(row.plan.peakBytes) : json()},
            {"why", whyOf(row)}};
  }

  /// Why it is not the choice.
  std::string whyOf(const JointRow &row) const {
    if (&row == &result.rows.front() && result.found())
      return "chosen";
    if (const std::string refusal = costs.refusal(row.choice); !refusal.empty())
      return refusal;
    if (row.planned && !row.plan.fits)
      return fmt::format("does not fit: needs {}", formatBytes(costs.leastBytes(row.choice)));
    if (row.least() == solver::kNever)
      return fmt::format("does not fit: holds {} all the time", formatBytes(costs.heldBytes(row.choice)));
    if (!result.found())
      return "not planned";
    const double best = result.rows.front().plan.seconds;
    if (row.planned)
      return fmt::format("{:.1f}% slower", 100 * (row.plan.seconds / best - 1));
    return row.bound >= best ? fmt::format("at least {:.1f}% slower", 100 * (row.bound / best - 1))
                             : fmt::format("at most {:.1f}% faster", 100 * (1 - row.bound / best));
  }

  /// The fastest plan and the least bound with each value of an axis.
  json valuesOf(size_t axis) const {
    json values = json::array();
    for (size_t value = 0; value < space.axes()[axis].values.size(); ++value) {
      double least = solver::kNever, seconds = solver::kNever;
      for (const JointRow &row : result.rows)
        if (row.choice[axis] == static_cast<int>(value)) {
          least = std::min(least, row.least());
          seconds = row.planned && row.plan.fits ? std::min(seconds, row.plan.seconds) : seconds;
        }
      values.push_back({{"value", space.axes()[axis].values[value]},
                        {"at_least", least == solver::kNever ? json() : json(least)},
                        {"seconds", seconds == solver::kNever ? json() : json(seconds)}});
    }
    return values;
  }

  const JointSpace &space;
  JointCosts &costs;
  const solver::JointResult &result;
  const JointChoice &chosen; ///< the best, or what needs the fewest bytes
};

/// The fastest choice within ever fewer bytes, from the peak of the best on, by tenths of it, as far as one
/// fits.
json frontierOf(const JointSpace &space, JointCosts &costs, const JointRow &best) {
  json points = json::array();
  const auto add = [&](const JointRow &row, double least) {
    points.push_back({{"budget_bytes", costs.budget()},
                      {"peak_bytes", row.plan.peakBytes},
                      {"seconds", row.plan.seconds},
                      {"lower_bound", least},
                      {"choice", choiceJson(space, costs, row.choice)}});
  };
  for (int tenths = 10; tenths > 0; --tenths) {
    costs.setBudget(best.plan.peakBytes / 10 * tenths);
    const solver::JointResult result =
        solver::searchJointly(costs, space.choices(), {kTolerance, kPlansOfPoint, 0, {}});
    if (!result.found())
      break;
    add(result.rows.front(), result.lowerBound);
  }
  return points;
}

} // namespace

JointAnswer planJointly(const CompileOptions &options) {
  checkOptions(options);
  CompileOptions first = options;
  first.joint = {};
  first.trial = Trial::Silent;
  if (first.pipeline.schedule == "auto")
    first.pipeline.schedule = "1f1b"; // what a micro-batch computes is the same
  Compilation compilation(first);
  compilation.import();
  compilation.step();
  const bool rowsFixed = !options.plan.maxBatchInput.empty() || dependsOnRows(compilation, options);
  const JointSpace space(options, compilation.onnx(), rowsFixed, expertsOf(compilation));
  JointCosts costs(space, options);
  solver::JointResult result = searchAll(space, costs);
  const JointChoice chosen = result.found() ? result.rows.front().choice : smallestOf(costs, result);
  const Answer found(space, costs, result, chosen);
  JointAnswer answer;
  answer.fits = result.found();
  answer.report = found.report();
  if (options.memory.frontier && result.found())
    answer.report["frontier"] = frontierOf(space, costs, result.rows.front());
  answer.options = space.optionsOf(chosen);
  answer.options.feedForwardChunk = costs.chunkOf(chosen);
  answer.options.trial = Trial::None;
  answer.options.output.report = options.output.report,
  answer.options.output.arenaFile = options.output.arenaFile,
  answer.options.output.launchFile = options.output.launchFile;
  return answer;
}

} // namespace kedge::driver
