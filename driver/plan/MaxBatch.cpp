#include "driver/plan/MaxBatch.h"
#include "driver/BudgetCheck.h"
#include "driver/Remedies.h"
#include "driver/joint/JointFit.h"
#include "driver/plan/PipelinePlan.h"
#include "lib/Support/Error.h"
#include "lib/Support/Progress.h"
#include "lib/Support/Reporter.h"
#include <cmath>

namespace kedge::driver {
namespace {

/// The search ends here, whatever the budget.
constexpr int64_t largestTried = int64_t(1) << 20;

using Resize = std::function<CompileOptions(int64_t)>;

CompileOptions withBatch(const CompileOptions &options, int64_t batch) {
  CompileOptions changed = options;
  int64_t given = options.model.shapes.at(options.plan.maxBatchInput).front();
  for (auto &[name, shape] : changed.model.shapes)
    if (!shape.empty() && shape.front() == given)
      shape.front() = batch;
  changed.trial = Trial::Silent;
  return changed;
}

/// Sizes that have the symbol of the sequence follow it.
CompileOptions withLength(const CompileOptions &options, int64_t length) {
  const model::Model model = model::loadModel(options.model.model, {.requireExternalData = false});
  const model::ValueInfo *sequence = model.graph.findInput(options.plan.maxSeqInput);
  if (!sequence || sequence->dims.size() < 2 || sequence->dims[1].isValue())
    fail("{}: --max-seq {}: expected an input whose second size is open", options.model.model,
         options.plan.maxSeqInput);
  const std::string &symbol = sequence->dims[1].symbol;
  CompileOptions changed = options;
  changed.model.shapes.at(options.plan.maxSeqInput)[1] = length;
  for (auto &[name, shape] : changed.model.shapes)
    if (const model::ValueInfo *input = model.graph.findInput(name); input && !symbol.empty())
      for (size_t i = 0; i < std::min(shape.size(), input->dims.size()); ++i)
        if (input->dims[i].symbol == symbol)
          shape[i] = length;
  changed.trial = Trial::Silent;
  return changed;
}

bool fits(const CompileOptions &trial) {
  if (trial.joint.on)
    return fitsInSomeWay(trial);
  CompileOptions one = trial;
  one.memory.frontier = false;
  const nlohmann::json report = reportOf(one);
  return report["fits"].get<bool>() && addedTimeOf(report) <= trial.plan.maxAddedTime.value_or(HUGE_VAL);
}

/// Where a smaller size fits, one that the model does not take is too large.
bool fitsAbove(int64_t fitting, const CompileOptions &trial) {
  try {
    return fits(trial);
  } catch (const Error &error) {
    if (fitting == 0)
      throw;
    note("no larger size: {}", error.what());
    return false;
  }
}

/// Doubles from `first` on, then bisects; 0 when none fits.
int64_t largestOf(const char *what, int64_t first, const Resize &resize) {
  int64_t fitting = 0, tooLarge = largestTried + 1, next = std::min(first, largestTried);
  while (tooLarge - fitting > 1) {
    const ProgressStage stage(fmt::format("looking for the largest {}, trying {}", what, next), 0);
    (fitsAbove(fitting, resize(next)) ? fitting : tooLarge) = next;
    bool isOpen = tooLarge > largestTried;
    next = isOpen ? std::min(2 * fitting, largestTried) : fitting + (tooLarge - fitting) / 2;
  }
  return fitting;
}

LargestSize sized(const Resize &resize, int64_t fitting, Trial trial) {
  LargestSize result{resize(std::max<int64_t>(fitting, 1)), fitting};
  result.options.trial = trial;
  return result;
}

/// Empty where it is --max-added-time that a plan does not keep to.
std::string whyNot(int64_t size, mlir::ModuleOp module, const CompileOptions &options) {
  const BudgetCheck budget(module, options);
  return budget.fits() ? ""
                       : fmt::format("why not {}:\n{}", size, budget.whyNothingFits(remediesText(options)));
}

} // namespace

LargestSize largestBatch(const CompileOptions &start) {
  const CompileOptions options =
      start.joint.on ? start : withChosenSchedule(start); // that of the size to begin with
  auto given = options.model.shapes.find(options.plan.maxBatchInput);
  if (given == options.model.shapes.end() || given->second.empty())
    fail("--max-batch {}: expected an input with a shape to begin with; give it with --shape {}=1x...",
         options.plan.maxBatchInput, options.plan.maxBatchInput);
  const Resize resize = [&](int64_t batch) { return withBatch(options, batch); };
  const int64_t fitting = largestOf("batch", given->second.front(), resize);
  return sized(resize, fitting, options.trial);
}

void LargestSize::addTo(nlohmann::json &report) const {
  if (!options.plan.maxBatchInput.empty())
    report["max_batch"] = {{"input", options.plan.maxBatchInput}, {"batch", size}};
  if (!options.plan.maxSeqInput.empty())
    report["max_seq"] = {{"input", options.plan.maxSeqInput}, {"length", size}};
}

std::string whyNoLarger(const LargestSize &found) {
  const int64_t size = found.size + 1;
  if (found.options.joint.on || size > largestTried)
    return "";
  const bool batch = !found.options.plan.maxBatchInput.empty();
  CompileOptions next = batch ? withBatch(found.options, size) : withLength(found.options, size);
  next.memory.frontier = next.plan.compare = false;
  try {
    if (next.isPipelined()) {
      PipelinePlan plan(next);
      return whyNot(size, plan.compilation().module(), plan.options());
    }
    Compilation compilation(next);
    compilation.import();
    compilation.step();
    compilation.schedule();
    compilation.plan();
    return whyNot(size, compilation.module(), next);
  } catch (const Error &) {
    return ""; // the search has said so
  }
}

LargestSize longestSequence(const CompileOptions &start) {
  const CompileOptions options = start.joint.on ? start : withChosenSchedule(start);
  auto given = options.model.shapes.find(options.plan.maxSeqInput);
  if (given == options.model.shapes.end() || given->second.size() < 2)
    fail("--max-seq {}: expected an input with a shape of at least two sizes to begin with; give it with "
         "--shape {}=1x128",
         options.plan.maxSeqInput, options.plan.maxSeqInput);
  const Resize resize = [&](int64_t length) { return withLength(options, length); };
  const int64_t fitting = largestOf("length", given->second[1], resize);
  return sized(resize, fitting, options.trial);
}

} // namespace kedge::driver
