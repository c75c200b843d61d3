#include "driver/plan/MaxBatch.h"
#include "driver/plan/PipelinePlan.h"
#include "lib/Support/Error.h"
#include "lib/Support/Progress.h"
#include <cmath>

namespace kedge::driver {
namespace {

/// The search ends here, whatever the budget.
constexpr int64_t largestTried = int64_t(1) << 20;

CompileOptions withBatch(const CompileOptions &options, int64_t batch) {
  CompileOptions changed = options;
  int64_t given = options.model.shapes.at(options.maxBatchInput).front();
  for (auto &[name, shape] : changed.model.shapes)
    if (!shape.empty() && shape.front() == given)
      shape.front() = batch;
  changed.isTrial = true;
  return changed;
}

bool fits(const CompileOptions &options, int64_t batch) {
  CompileOptions trial = withBatch(options, batch);
  trial.frontier = false;
  const ProgressStage stage(fmt::format("looking for the largest batch, trying {}", batch), 0);
  const nlohmann::json report = reportOf(trial);
  return report["fits"].get<bool>() && addedTimeOf(report) <= options.maxAddedTime.value_or(HUGE_VAL);
}

} // namespace

CompileOptions withLargestBatch(const CompileOptions &given) {
  const CompileOptions options = withChosenSchedule(given); // that of the batch to begin with
  auto shape = options.model.shapes.find(options.maxBatchInput);
  if (shape == options.model.shapes.end() || shape->second.empty())
    fail("--max-batch {}: expected an input with a shape to begin with; give it with --shape {}=1x...",
         options.maxBatchInput, options.maxBatchInput);
  int64_t fitting = 0, tooLarge = largestTried + 1, next = std::min(shape->second.front(), largestTried);
  while (tooLarge - fitting > 1) {
    (fits(options, next) ? fitting : tooLarge) = next;
    bool isOpen = tooLarge > largestTried;
    next = isOpen ? std::min(2 * fitting, largestTried) : fitting + (tooLarge - fitting) / 2;
  }
  CompileOptions result = withBatch(options, std::max<int64_t>(fitting, 1));
  result.isTrial = false;
  result.maxBatch = fitting;
  return result;
}

} // namespace kedge::driver
