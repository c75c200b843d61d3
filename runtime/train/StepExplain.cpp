// Why a step is not finite: it runs again, and every value is looked at.
#include "runtime/comm/FirstWord.h"
#include "runtime/io/Error.h"
#include "runtime/train/Step.h"
#include <cmath>

namespace kedge::rt {
namespace {

std::string describe(const NonFinite &found) {
  return fmt::format("{}, element {} of {}", found.value, found.element, found.what);
}

} // namespace

/// A value that was there before the first launch may be a file's: then its place there is told.
void StepRunner::nameData(std::optional<NonFinite> &found, RowRange rows) {
  if (!found || found->launch >= 0)
    return;
  const std::optional<Dataset::Place> place = data.firstNonFinite(rows);
  foundInData = place && place->inBatch == found->element;
  if (foundInData)
    found->what += fmt::format(", which is row {}, element {} of {}", place->row, place->element, place->file);
}

std::string StepRunner::remedy() const {
  if (foundInData)
    return "; correct the data";
  const std::string help = "; a lower --lr, a longer --warmup or --clip-norm may help";
  return canSkipUpdates(program) ? help + "; --on-nan continue skips such a step" : help;
}

void StepRunner::failWith(const std::string &head, const std::optional<NonFinite> &found, const std::string &nothing) {
  Communicator *ranks = executor.communicator();
  if (!ranks)
    throw NotFinite(head + ": " + (found ? "the first value that is not finite is " + describe(*found) : nothing) + remedy());
  std::optional<Word> word;
  if (found)
    word = {found->launch, fmt::format("is, on rank {}, ", world.rank) + describe(*found)};
  failWithFirstWord(ranks, head + ": the first value that is not finite ", word, remedy());
  failWithFirstWord(ranks, head + ": ", Word{0, nothing}, remedy());
  fail("{}", head);
}

void StepRunner::explainLoss(const Progress &progress, int64_t micro, double value) {
  stagedRow.reset();
  data.fill(executor, forward, rowsOf(progress, micro));
  writer.write(executor, scalars, pointOf(progress, micro));
  const std::string head = fmt::format("the loss of step {} is not finite ({})", progress.step, value);
  std::optional<NonFinite> found = executor.firstNonFinite(forward, program.function(forward)->lossReady);
  nameData(found, rowsOf(progress, micro));
  failWith(head, found, "no value before it is");
}

/// No scale helps against what is in a file. Ranks agree: all of them have the same sum.
void StepRunner::refuseData(const Progress &progress, int64_t micro) {
  const std::optional<Dataset::Place> place = data.firstNonFinite(rowsOf(progress, micro));
  std::optional<Word> word;
  if (place)
    word = {0, fmt::format("row {}, element {} of {} is not finite", place->row, place->element, place->file)};
  failWithFirstWord(executor.communicator(), fmt::format("the loss of step {} is not finite: ", progress.step), word,
                    "; correct the data");
}

/// All micro-batches run again, on all ranks alike. Accumulators then hold what they held.
NonFiniteGradients StepRunner::findAgain(const Progress &progress) {
  NonFiniteGradients first;
  int launches = 0;
  const auto take = [&](std::optional<NonFinite> &kept, const std::optional<NonFinite> &found) {
    if (kept || !found)
      return;
    kept = found;
    kept->launch += launches;
  };
  for (int64_t micro = 0; micro < program.options.accumulate; ++micro) {
    data.fill(executor, forward, rowsOf(progress, micro));
    writer.write(executor, scalars, pointOf(progress, micro));
    NonFiniteGradients found = executor.nonFiniteGradients(forward);
    if (!first.value)
      nameData(found.value, rowsOf(progress, micro));
    take(first.value, found.value);
    take(first.gradient, found.gradient);
    launches += static_cast<int>(program.function(forward)->launches.size());
  }
  if (const Function *update = program.function("update"); update && forward == "micro")
    take(first.gradient, executor.nonFiniteGradient(*update, -1));
  return first;
}

void StepRunner::explainGradients(const Progress &progress, double norm) {
  stagedRow.reset();
  const bool held = canSkipUpdates(program);
  NonFiniteGradients found = findAgain(progress);
  if (!found.gradient && std::isinf(norm))
    found.value.reset(); // of squares, which infinity is no fault of
  if (!found.value)
    found.value = found.gradient;
  else if (found.gradient)
    found.value->what += "; " + found.gradient->what + " is the first that it reaches";
  const char *nothing = !held             ? "when it ran again after its updates, all of them were"
                        : std::isinf(norm) ? "every one of them is, and the sum of their squares is beyond fp32"
                                           : "when it ran again, all of them were";
  failWith(fmt::format("the gradients of step {} are not finite (grad_norm {})", progress.step, norm), found.value, nothing);
}

} // namespace kedge::rt
